// Whichever allocation fails, a decoder returns the replies to come, or says
// that it is broken.
#include "redis/decoder.h"

#include <malloc.h>

#include <optional>
#include <string>

#include "shortage.h"

using petstore::redis::Decoder;
using petstore::redis::Reply;
using State = petstore::redis::Decoder::State;

namespace {

constexpr std::size_t kLarge = 1'000'000;

std::string bulk_of(std::size_t size)
{
    return "$" + std::to_string(size) + "\r\n" + std::string(size, 'x')
           + "\r\n";
}

// What this process has allocated, in bytes.
std::size_t in_use()
{
    const auto info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

// A decoder that has returned a large reply, but does not know yet that no
// other follows.
struct Large {
    Large()
    {
        const Reply* reply = nullptr;
        REQUIRE(decoder.feed(bulk_of(kLarge)));
        REQUIRE(decoder.next(reply) == State::reply);
    }

    void act()
    {
        const Reply* reply = nullptr;
        between = decoder.next(reply);
        if (decoder.feed(":7\r\n") && decoder.next(reply) == State::reply) {
            number = reply->integer();
        }
    }

    void check(bool thrown) const
    {
        if (!thrown) {
            CHECK(between == State::incomplete);
            CHECK((number == 7 || !decoder.problem().empty()));
        }
    }

    Decoder decoder;
    State between = State::broken;
    std::optional<std::int64_t> number;
};

}  // namespace

TEST_CASE("out of memory: a small reply after a large one")
{
    fail_each_allocation<Large>();
}

TEST_CASE("the buffer of a large reply is freed after it")
{
    const auto before = in_use();
    Large large;
    const auto full = in_use();
    large.act();
    CHECK(large.number == 7);
    CHECK(full - before > 2 * kLarge);
    CHECK(in_use() < full - kLarge);
}
