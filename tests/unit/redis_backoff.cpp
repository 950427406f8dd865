#include "catch.h"

#include <algorithm>
#include <cstdint>

#include "redis/backoff.h"

using petstore::redis::Backoff;

namespace {

// The shortest and the longest delay after `failures` failures.
struct Range {
    std::uint64_t shortest;
    std::uint64_t longest;
    bool operator==(const Range& other) const
    {
        return shortest == other.shortest && longest == other.longest;
    }
};

Range range(unsigned failures)
{
    Range range = {UINT64_MAX, 0};
    for (std::uint64_t random = 0; random < 1000; ++random) {
        const std::uint64_t delay = Backoff::delay(failures, random);
        range.shortest = std::min(range.shortest, delay);
        range.longest = std::max(range.longest, delay);
    }
    return range;
}

}  // namespace

TEST_CASE("a back-off doubles from 50 to 500 ms, 20 % either way", "[redis]")
{
    CHECK(range(1) == Range{40, 60});
    CHECK(range(2) == Range{80, 120});
    CHECK(range(3) == Range{160, 240});
    CHECK(range(4) == Range{320, 480});
    CHECK(range(5) == Range{400, 600});
    CHECK(range(6) == Range{400, 600});
    CHECK(range(UINT32_MAX) == Range{400, 600});
}

TEST_CASE("the jitter of a back-off comes from the random number", "[redis]")
{
    CHECK(Backoff::delay(1, 0) == 40);
    CHECK(Backoff::delay(1, 20) == 60);
    CHECK(Backoff::delay(1, 21) == 40);
    CHECK(Backoff::delay(5, 100) == 500);
    CHECK(Backoff::delay(5, UINT64_MAX) <= 600);
}
