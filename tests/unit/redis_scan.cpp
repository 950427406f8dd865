#include "catch.h"

#include "redis/scan.h"
#include "redis_replies.h"

using petstore::redis::Scan;
using Words = std::vector<std::string>;

TEST_CASE("a scan of keys goes on until the cursor returns to 0", "[redis]")
{
    Replies replies;
    auto scan = Scan::of_keys("P:*");
    CHECK_FALSE(scan.done());
    CHECK(words(scan.next())
          == Words{"SCAN", "0", "MATCH", "P:*", "COUNT", "1000"});
    CHECK(scan.next().routing_key().empty());

    const auto* names = scan.take(replies(
        array({bulk("17"), array({bulk("P:a"), bulk("P:b"), bulk("P:c")})})));
    REQUIRE(names != nullptr);
    REQUIRE(names->size() == 3);
    CHECK((*names)[2].text() == "P:c");
    CHECK_FALSE(scan.done());
    CHECK(words(scan.next())
          == Words{"SCAN", "17", "MATCH", "P:*", "COUNT", "1000"});

    // An empty piece is not the end.
    names = scan.take(replies(array({bulk("4"), array({})})));
    REQUIRE(names != nullptr);
    CHECK(names->size() == 0);
    CHECK_FALSE(scan.done());

    REQUIRE(scan.take(replies(array({bulk("0"), array({bulk("P:d")})})))
            != nullptr);
    CHECK(scan.done());
}

TEST_CASE("a scan of a hash is routed to it and yields pairs", "[redis]")
{
    Replies replies;
    auto scan = Scan::of_hash("P:keys");
    const auto command = scan.next();
    CHECK(words(command) == Words{"HSCAN", "P:keys", "0", "COUNT", "1000"});
    CHECK(command.routing_key() == "P:keys");
    const auto* fields = scan.take(
        replies(array({bulk("9"), array({bulk("field"), bulk("value")})})));
    REQUIRE(fields != nullptr);
    CHECK((*fields)[0].text() == "field");
    CHECK((*fields)[1].text() == "value");
    CHECK(words(scan.next())[2] == "9");
    // A field without its value.
    CHECK(scan.take(replies(array({bulk("0"), array({bulk("field")})})))
          == nullptr);
    CHECK(scan.done());
}

TEST_CASE("a scan of a set is routed to it and yields members", "[redis]")
{
    Replies replies;
    auto scan = Scan::of_set("P:{a1}:keys");
    const auto command = scan.next();
    CHECK(words(command)
          == Words{"SSCAN", "P:{a1}:keys", "0", "COUNT", "1000"});
    CHECK(command.routing_key() == "P:{a1}:keys");
    const auto* members = scan.take(replies(
        array({bulk("5"), array({bulk("k1"), bulk("k2"), bulk("k3")})})));
    REQUIRE(members != nullptr);
    CHECK(members->size() == 3);
    CHECK((*members)[2].text() == "k3");
    CHECK(words(scan.next())[2] == "5");
    members = scan.take(replies(array({bulk("0"), array({})})));
    REQUIRE(members != nullptr);
    CHECK(members->size() == 0);
    CHECK(scan.done());
}

TEST_CASE("a malformed reply ends a scan", "[redis]")
{
    Replies replies;
    for (const auto& reply :
         {std::string("-NOPERM x\r\n"), bulk("0"), integer(0), kNil, array({}),
          array({bulk("0")}), array({bulk("0"), bulk("P:a")}),
          array({integer(1), array({})}), array({bulk(""), array({})}),
          array({bulk("0"), array({}), array({})})}) {
        CAPTURE(reply);
        auto scan = Scan::of_keys("P:*");
        CHECK(scan.take(replies(reply)) == nullptr);
        CHECK(scan.done());
    }
}
