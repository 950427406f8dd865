#include "account.h"

#include "text.h"

namespace petstore::api {

bool is_external_id(std::string_view text) noexcept
{
    constexpr std::size_t kMaxSize = 128;
    return !text.empty() && text.size() <= kMaxSize && is_visible_ascii(text);
}

}  // namespace petstore::api
