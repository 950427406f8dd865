#include "catch.h"

#include <string>

#include "redis/reply_fields.h"
#include "redis_replies.h"

using namespace petstore;

namespace {

std::optional<api::Millis> parse(const std::string& reply)
{
    Replies replies;
    return redis::parse_time(replies(reply));
}

}  // namespace

TEST_CASE("a reply to TIME is seconds and microseconds", "[redis]")
{
    CHECK(parse(array({bulk("1700000000"), bulk("123999")}))
          == 1'700'000'000'123);
    CHECK(parse(array({bulk("0"), bulk("0")})) == 0);
    CHECK(parse(array({bulk("5"), bulk("1000"), bulk("more")})) == 5001);
}

TEST_CASE("anything else is not a time", "[redis]")
{
    for (const std::string& reply :
         {array({}), array({bulk("1700000000")}), bulk("1700000000"),
          std::string("*-1\r\n"), std::string(":1700000000\r\n"),
          array({bulk("-1"), bulk("0")}), array({bulk("x"), bulk("0")}),
          array({bulk("1"), bulk("1000000")}), array({bulk("1"), bulk("-1")}),
          array({bulk("9223372036854775807"), bulk("0")})}) {
        INFO(reply);
        CHECK_FALSE(parse(reply));
    }
}
