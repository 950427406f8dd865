#include "reply.h"

namespace petstore::redis {

std::string_view Reply::error_code() const noexcept
{
    if (type_ != Type::error) {
        return {};
    }
    const std::string_view whole = text();
    return whole.substr(0, whole.find(' '));
}

}  // namespace petstore::redis
