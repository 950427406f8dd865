#include "reply_fields.h"

#include <algorithm>

#include "../api/text.h"

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

std::optional<api::Millis> parse_time(const Reply& reply) noexcept
{
    constexpr std::int64_t kMostSeconds = std::int64_t{1} << 43;
    if (reply.size() < 2) {
        return std::nullopt;
    }
    const auto seconds = api::parse_int64(reply[0].text());
    const auto micros = api::parse_int64(reply[1].text());
    if (!seconds || *seconds < 0 || *seconds > kMostSeconds || !micros
        || *micros < 0 || *micros > 999'999) {
        return std::nullopt;
    }
    return *seconds * 1000 + *micros / 1000;
}

}  // namespace petstore::redis
