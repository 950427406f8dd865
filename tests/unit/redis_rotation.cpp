#include "catch.h"

#include <cstddef>
#include <vector>

#include "redis/rotation.h"

using petstore::redis::Rotation;

TEST_CASE("a round asks each server once, starting after the last one",
          "[redis]")
{
    Rotation rotation(3);
    CHECK_FALSE(rotation.next());
    const auto round = [&](std::size_t most) {
        std::vector<std::size_t> asked;
        rotation.begin_round();
        while (asked.size() < most && rotation.next()) {
            asked.push_back(rotation.current());
        }
        return asked;
    };
    using Indexes = std::vector<std::size_t>;
    CHECK(round(9) == Indexes{0, 1, 2});
    CHECK(round(2) == Indexes{0, 1});
    CHECK(rotation.left() == 1);
    CHECK(round(9) == Indexes{2, 0, 1});

    rotation = Rotation(3, 2);
    CHECK(round(9) == Indexes{2, 0, 1});

    Rotation single(1);
    for (int i = 0; i < 3; ++i) {
        single.begin_round();
        CHECK(single.next());
        CHECK(single.current() == 0);
        CHECK_FALSE(single.next());
    }
}
