#include "catch.h"

#include <memory>

#include "redis/reply_copy.h"
#include "redis_replies.h"

using namespace petstore;
using redis::ReplyCopy;
using redis::Type;

TEST_CASE("a copy of a reply outlives its decoder", "[redis]")
{
    std::unique_ptr<ReplyCopy> copy;
    {
        Replies replies;
        copy = std::make_unique<ReplyCopy>(
            replies(array({integer(7), bulk("a bucket"), kNil,
                           array({integer(-1), array({}), bulk("")}), "+OK\r\n",
                           bulk("the last")})));
        replies(integer(0));
    }
    const redis::Reply& reply = copy->get();
    REQUIRE(reply.is(Type::array));
    REQUIRE(reply.size() == 6);
    CHECK(reply[0].integer() == 7);
    CHECK(reply[1].is(Type::string));
    CHECK(reply[1].text() == "a bucket");
    CHECK(reply[2].is(Type::nil));
    REQUIRE(reply[3].size() == 3);
    CHECK(reply[3][0].integer() == -1);
    CHECK(reply[3][1].is(Type::array));
    CHECK(reply[3][1].size() == 0);
    CHECK(reply[3][2].is(Type::string));
    CHECK(reply[3][2].text().empty());
    CHECK(reply[4].is(Type::status));
    CHECK(reply[4].text() == "OK");
    CHECK(reply[5].text() == "the last");
}

TEST_CASE("a copy of an error keeps its text", "[redis]")
{
    Replies replies;
    const ReplyCopy copy(replies("-OOM command not allowed\r\n"));
    replies(integer(0));
    CHECK(copy.get().is_error());
    CHECK(copy.get().error_code() == "OOM");
    CHECK(copy.get().text() == "OOM command not allowed");
}
