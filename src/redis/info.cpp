#include "info.h"

#include <algorithm>

namespace petstore::redis {

std::string_view info_field(std::string_view info,
                            std::string_view name) noexcept
{
    while (!info.empty()) {
        const std::string_view line = info.substr(0, info.find('\n'));
        info.remove_prefix(std::min(info.size(), line.size() + 1));
        if (line.size() > name.size() && line.substr(0, name.size()) == name
            && line[name.size()] == ':') {
            const std::string_view value = line.substr(name.size() + 1);
            return value.substr(0, value.find('\r'));
        }
    }
    return {};
}

}  // namespace petstore::redis
