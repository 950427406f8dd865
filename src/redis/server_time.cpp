#include "server_time.h"

#include "../api/text.h"

namespace petstore::redis {

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
