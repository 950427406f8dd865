#include "catch.h"

#include <string>
#include <vector>

#include "redis/sentinel.h"
#include "redis_replies.h"

using namespace petstore;
using redis::PrimaryAddress;
using redis::SentinelMessage;
using redis::ServerAddress;
using Kind = SentinelMessage::Kind;
using Result = PrimaryAddress::Result;

namespace {

PrimaryAddress address_in(const std::string& reply)
{
    Replies replies;
    return redis::parse_primary_address(replies(reply));
}

SentinelMessage message_in(const std::string& reply)
{
    Replies replies;
    return redis::parse_sentinel_message(replies(reply), "main");
}

std::string message(const std::string& text)
{
    return array({bulk("message"), bulk("+switch-master"), bulk(text)});
}

}  // namespace

TEST_CASE("a Sentinel is asked for the primary by name", "[redis]")
{
    CHECK(words(redis::primary_address_request("main"))
          == std::vector<std::string>{"SENTINEL", "GET-MASTER-ADDR-BY-NAME",
                                      "main"});
    CHECK(words(redis::switch_subscription())
          == std::vector<std::string>{"SUBSCRIBE", "+switch-master",
                                      "+promoted-slave"});
}

TEST_CASE("a Sentinel answers with an address or a host name", "[redis]")
{
    for (const std::string host :
         {"10.0.0.7", "::1", "redis-1.example.com", "my_redis", "fe80::1:2"}) {
        const auto found = address_in(array({bulk(host), bulk("6380")}));
        CHECK(found.result == Result::found);
        CHECK(found.address == ServerAddress{host, 6380});
    }
}

TEST_CASE("a Sentinel may not know the primary, or refuse to answer", "[redis]")
{
    CHECK(address_in("*-1\r\n").result == Result::unknown_name);
    CHECK(address_in(kNil).result == Result::unknown_name);
    CHECK(address_in("-NOAUTH Authentication required.\r\n").result
          == Result::refused);
    CHECK(address_in("-ERR unknown command 'SENTINEL'\r\n").result
          == Result::refused);
}

TEST_CASE("a Sentinel knows the primary's run ID", "[redis]")
{
    CHECK(words(redis::primary_record_request("main"))
          == std::vector<std::string>{"SENTINEL", "MASTER", "main"});
    const auto record = [](const std::vector<std::string>& fields) {
        std::vector<std::string> texts;
        for (const auto& field : fields) {
            texts.push_back(bulk(field));
        }
        Replies replies;
        return redis::parse_primary_record(replies(array(texts)));
    };
    const auto found =
        record({"name", "main", "ip", "10.0.0.7", "port", "6380", "runid",
                "0123456789abcdef0123456789abcdef01234567", "flags", "master"});
    REQUIRE(found);
    CHECK(*found == ServerAddress{"10.0.0.7", 6380});
    CHECK(found->id.text() == "0123456789abcdef0123456789abcdef01234567");
    // Not yet known.
    const auto young = record({"ip", "h", "port", "1", "runid", ""});
    REQUIRE(young);
    CHECK(young->id.empty());
    CHECK_FALSE(record({"runid", "x"}));
    CHECK_FALSE(record({"ip", "a b", "port", "1", "runid", "x"}));
    CHECK_FALSE(record({}));
    Replies replies;
    CHECK_FALSE(redis::parse_primary_record(replies("-NOPERM x\r\n")));
}

TEST_CASE("an answer that is not an address is invalid", "[redis]")
{
    const auto reply = GENERATE(values<std::string>(
        {"+OK\r\n",
         ":1\r\n",
         "$0\r\n\r\n",
         "*0\r\n",
         array({bulk("h")}),
         array({bulk("h"), bulk("6379"), bulk("x")}),
         array({bulk(""), bulk("6379")}),
         array({bulk("h"), bulk("")}),
         array({bulk("h"), bulk("0")}),
         array({bulk("h"), bulk("65536")}),
         array({bulk("h"), bulk("-1")}),
         array({bulk("h"), bulk("6379 ")}),
         array({bulk("h"), bulk("99999999999999999999")}),
         array({bulk("h"), integer(6379)}),
         array({kNil, kNil}),
         array({bulk("a b"), bulk("6379")}),
         array({bulk("a\nb"), bulk("1")}),
         array({bulk("/tmp/redis"), bulk("6379")}),
         array({bulk(std::string("a\0b", 3)), bulk("6379")}),
         array({bulk(std::string(256, 'a')), bulk("6379")}),
         array({array({bulk("h")}), bulk("6379")})}));
    INFO(reply);
    CHECK(address_in(reply).result == Result::invalid);
}

TEST_CASE("a subscribed connection receives confirmation, pongs and switches",
          "[redis]")
{
    CHECK(message_in(
              array({bulk("subscribe"), bulk("+switch-master"), integer(1)}))
              .kind
          == Kind::subscribed);
    CHECK(message_in(array({bulk("pong"), bulk("")})).kind == Kind::pong);
    const auto moved = message_in(message("main 10.0.0.1 6379 10.0.0.2 6380"));
    CHECK(moved.kind == Kind::switched);
    CHECK(moved.address == ServerAddress{"10.0.0.2", 6380});
    const auto named = message_in(message("main a.test 6379 b.test 6380"));
    CHECK(named.address == ServerAddress{"b.test", 6380});
}

TEST_CASE("the promotion of a replica is a switch, too", "[redis]")
{
    const auto promotion = [](const std::string& text) {
        return message_in(
            array({bulk("message"), bulk("+promoted-slave"), bulk(text)}));
    };
    const auto moved =
        promotion("slave 10.0.0.2:6380 10.0.0.2 6380 @ main 10.0.0.1 6379");
    CHECK(moved.kind == Kind::switched);
    CHECK(moved.address == ServerAddress{"10.0.0.2", 6380});
    CHECK(promotion("slave 10.0.0.2:6380 10.0.0.2 6380 @ other 10.0.0.1 6379")
              .kind
          == Kind::other);
    for (const char* text :
         {"slave 10.0.0.2:6380 10.0.0.2 6380 @ main 10.0.0.1 6379 more",
          "slave 10.0.0.2:6380 10.0.0.2 x @ main 10.0.0.1 6379"}) {
        CHECK(promotion(text).kind == Kind::invalid);
    }
    // The second confirmation of the subscription.
    CHECK(message_in(
              array({bulk("subscribe"), bulk("+promoted-slave"), integer(2)}))
              .kind
          == Kind::other);
}

TEST_CASE("switches of other primaries are ignored", "[redis]")
{
    for (const std::string name : {"other", "main2", "mai", ""}) {
        CHECK(message_in(message(name + " 10.0.0.1 6379 10.0.0.2 6380")).kind
              == Kind::other);
    }
}

TEST_CASE("a message that no Sentinel sends is invalid", "[redis]")
{
    CHECK(message_in("-NOPERM no permissions\r\n").kind == Kind::refused);
    const auto reply = GENERATE(values<std::string>(
        {"+PONG\r\n", ":1\r\n", kNil, "*0\r\n", "*-1\r\n",
         array({bulk("message")}),
         array({bulk("message"), bulk("+sdown"), bulk("main")}),
         array({bulk("unsubscribe"), bulk("+switch-master"), integer(0)}),
         array({bulk("message"), bulk("+switch-master")}),
         array({integer(1), integer(2), integer(3)}), message("main"),
         message("main "), message("main 10.0.0.1 6379"),
         message("main 10.0.0.1 6379 10.0.0.2"),
         message("main 10.0.0.1 6379 10.0.0.2 0"),
         message("main 10.0.0.1 6379 10.0.0.2 x"),
         message("main 10.0.0.1 6379  10.0.0.2 6380"),
         message("main 10.0.0.1 6379 10.0.0.2 6380 more"),
         message("main 10.0.0.1 6379 10.0.0.2\r\n 6380")}));
    INFO(reply);
    CHECK(message_in(reply).kind == Kind::invalid);
}

TEST_CASE("each answer of a Sentinel counts, and another primary is a change",
          "[redis]")
{
    redis::KnownPrimary primary;
    CHECK(primary.answers() == 0);
    primary.take({"one", 6379});
    CHECK(primary.answers() == 1);
    CHECK(primary.address().host == "one");
    CHECK_FALSE(primary.has_changed());
    primary.take({"one", 6379});
    CHECK(primary.answers() == 2);
    CHECK_FALSE(primary.has_changed());
    primary.take({"two", 6379});
    CHECK(primary.has_changed());
    CHECK_FALSE(primary.has_changed());
    // A change is not forgotten because of the next answer.
    primary.take({"three", 6379});
    primary.take({"three", 6379});
    CHECK(primary.has_changed());
}

TEST_CASE("an answer is news if it names another primary", "[redis]")
{
    const auto known_as = [](const std::string& host, std::string_view id) {
        return ServerAddress{host, 6379, redis::ServerId(id)};
    };
    redis::KnownPrimary primary;
    CHECK(primary.is_news(known_as("one", "a")));
    primary.take(known_as("one", "a"));
    CHECK_FALSE(primary.is_news(known_as("one", "a")));
    CHECK_FALSE(primary.is_news(known_as("one", "")));
    CHECK(primary.is_news(known_as("one", "b")));
    CHECK(primary.is_news(known_as("two", "a")));
}

TEST_CASE("failovers may not follow each other too fast", "[redis]")
{
    redis::KnownPrimary primary;
    primary.take({"one", 6379});
    // Known already from an answer.
    CHECK(primary.take_switch({"one", 6379}, 100));
    CHECK(primary.answers() == 1);
    CHECK_FALSE(primary.has_changed());

    CHECK(primary.take_switch({"two", 6379}, 200));
    CHECK(primary.answers() == 2);
    CHECK(primary.has_changed());
    CHECK(primary.take_switch({"two", 6379}, 300));
    const auto soon = 200 + redis::KnownPrimary::kBetweenSwitches - 1;
    CHECK_FALSE(primary.take_switch({"one", 6379}, soon));
    CHECK(primary.address().host == "two");
    CHECK_FALSE(primary.has_changed());
    CHECK(primary.take_switch({"one", 6379}, soon + 1));
    CHECK(primary.address().host == "one");
}
