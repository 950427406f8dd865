#pragma once

#include <algorithm>
#include <cstdint>

namespace petstore::redis {

// The delay before the next attempt to connect, in milliseconds. The longest
// delay bounds how late a worker notices that Redis is back.
struct Backoff {
    static constexpr std::uint64_t kFirst = 50;
    static constexpr std::uint64_t kLongest = 500;

    // The delay after `failures` consecutive failures; `failures` must be at
    // least 1. `random` spreads the delay by 20 % either way, so that the
    // workers of many hosts do not reconnect at the same moment.
    static constexpr std::uint64_t delay(unsigned failures,
                                         std::uint64_t random) noexcept
    {
        constexpr unsigned kMaxDoublings = 4;
        const unsigned doublings = std::min(failures - 1, kMaxDoublings);
        const std::uint64_t base = std::min(kFirst << doublings, kLongest);
        return base - base / 5 + random % (base * 2 / 5 + 1);
    }
};

}  // namespace petstore::redis
