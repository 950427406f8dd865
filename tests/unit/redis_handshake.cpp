#include "catch.h"

#include <string>

#include "redis/handshake.h"
#include "redis/replication.h"
#include "redis/sentinel.h"
#include "redis_replies.h"

using namespace petstore;
using redis::Endpoint;
using redis::Handshake;
using Step = Handshake::Step;

namespace {

std::string text_of(std::initializer_list<redis::Command> commands)
{
    std::string bytes;
    for (const auto& command : commands) {
        command.append_to(bytes);
    }
    return bytes;
}

const redis::Command kPing("PING");

const redis::Command kInfo = redis::info_replication();

}  // namespace

TEST_CASE("a handshake authenticates and selects a database if the URL says so",
          "[redis]")
{
    Handshake handshake;
    Endpoint endpoint;
    handshake.begin(endpoint, {&kInfo});
    CHECK(handshake.unsent() == text_of({kPing, kInfo}));

    endpoint.password = "pw";
    handshake.begin(endpoint, {&kInfo});
    CHECK(handshake.unsent()
          == text_of({redis::Command("AUTH").arg("pw"), kPing, kInfo}));

    endpoint.user = "me";
    endpoint.database = 3;
    handshake.begin(endpoint, {&kInfo});
    CHECK(handshake.unsent()
          == text_of({redis::Command("AUTH").arg("me").arg("pw"),
                      redis::Command("SELECT").arg(std::int64_t{3}), kPing,
                      kInfo}));
    handshake.sent(5);
    CHECK(handshake.unsent().size()
          == text_of({redis::Command("AUTH").arg("me").arg("pw"),
                      redis::Command("SELECT").arg(std::int64_t{3}), kPing,
                      kInfo})
                     .size()
                 - 5);
}

TEST_CASE("a handshake ends with the reply to its last command", "[redis]")
{
    Replies replies;
    Handshake handshake;
    Endpoint endpoint;
    endpoint.password = "pw";
    handshake.begin(endpoint, {&kInfo});
    handshake.sent(handshake.unsent().size());
    CHECK(handshake.take(replies("+OK\r\n")) == Step::accepted);
    CHECK(handshake.take(replies("+PONG\r\n")) == Step::accepted);
    CHECK(handshake.take(replies("-NOPERM x\r\n")) == Step::last);
}

TEST_CASE("a handshake may ask which server this is", "[redis]")
{
    Replies replies;
    Handshake handshake;
    redis::Command myid("CLUSTER");
    myid.arg("MYID");
    handshake.begin({}, {&kInfo, &myid});
    CHECK(handshake.unsent() == text_of({kPing, myid, kInfo}));
    handshake.sent(handshake.unsent().size());
    CHECK(handshake.take(replies("+PONG\r\n")) == Step::accepted);
    SECTION("it says so")
    {
        CHECK(handshake.take(replies(bulk("id"))) == Step::identity);
    }
    SECTION("it refuses")
    {
        CHECK(handshake.take(replies("-NOPERM x\r\n")) == Step::identity);
    }
    CHECK(handshake.take(replies(bulk("role:master"))) == Step::last);
}

TEST_CASE("a handshake may subscribe in the same write", "[redis]")
{
    Replies replies;
    Handshake handshake;
    const auto subscribe = redis::switch_subscription();
    handshake.begin({}, {&kInfo, nullptr, &subscribe});
    CHECK(handshake.unsent() == text_of({kPing, kInfo, subscribe}));
    handshake.sent(handshake.unsent().size());
    CHECK(handshake.take(replies("+PONG\r\n")) == Step::accepted);
    CHECK(handshake.take(replies(bulk("role:master"))) == Step::last);
}

TEST_CASE("an error before INFO refuses the connection", "[redis]")
{
    Replies replies;
    Handshake handshake;
    Endpoint endpoint;
    endpoint.database = 99;
    handshake.begin(endpoint, {&kInfo});
    handshake.sent(handshake.unsent().size());
    CHECK(handshake.take(replies("-ERR DB index is out of range\r\n"))
          == Step::refused);
}

TEST_CASE("a reply to an unsent command of the handshake is unexpected",
          "[redis]")
{
    Replies replies;
    Handshake handshake;
    handshake.begin({}, {&kInfo});
    handshake.sent(handshake.unsent().size() - 1);
    CHECK(handshake.take(replies("+PONG\r\n")) == Step::accepted);
    CHECK(handshake.take(replies("+OK\r\n")) == Step::unexpected);
}
