#include "catch.h"

#include <string>

#include "store/handshake.h"
#include "store_replies.h"

using namespace petstore;
using store::Endpoint;
using store::Handshake;
using Step = Handshake::Step;

namespace {

std::string text_of(std::initializer_list<resp::Command> commands)
{
    std::string bytes;
    for (const auto& command : commands) {
        command.append_to(bytes);
    }
    return bytes;
}

const resp::Command kPing("PING");

resp::Command info()
{
    resp::Command command("INFO");
    command.arg("replication");
    return command;
}

}  // namespace

TEST_CASE("a handshake sends what the URL calls for", "[store]")
{
    Handshake handshake;
    Endpoint endpoint;
    handshake.begin(endpoint);
    CHECK(handshake.unsent() == text_of({kPing, info()}));

    endpoint.password = "pw";
    handshake.begin(endpoint);
    CHECK(handshake.unsent()
          == text_of({resp::Command("AUTH").arg("pw"), kPing, info()}));

    endpoint.user = "me";
    endpoint.database = 3;
    handshake.begin(endpoint);
    CHECK(handshake.unsent()
          == text_of({resp::Command("AUTH").arg("me").arg("pw"),
                      resp::Command("SELECT").arg(std::int64_t{3}), kPing,
                      info()}));
    handshake.sent(5);
    CHECK(handshake.unsent().size()
          == text_of({resp::Command("AUTH").arg("me").arg("pw"),
                      resp::Command("SELECT").arg(std::int64_t{3}), kPing,
                      info()})
                     .size()
                 - 5);
}

TEST_CASE("a handshake ends with the reply to INFO", "[store]")
{
    Replies replies;
    Handshake handshake;
    Endpoint endpoint;
    endpoint.password = "pw";
    handshake.begin(endpoint);
    handshake.sent(handshake.unsent().size());
    CHECK(handshake.take(replies("+OK\r\n")) == Step::accepted);
    CHECK(handshake.take(replies("+PONG\r\n")) == Step::accepted);
    CHECK(handshake.take(replies("-NOPERM x\r\n")) == Step::role);
}

TEST_CASE("an error before INFO refuses the connection", "[store]")
{
    Replies replies;
    Handshake handshake;
    Endpoint endpoint;
    endpoint.database = 99;
    handshake.begin(endpoint);
    handshake.sent(handshake.unsent().size());
    CHECK(handshake.take(replies("-ERR DB index is out of range\r\n"))
          == Step::refused);
}

TEST_CASE("a reply to what the handshake did not send yet is unexpected",
          "[store]")
{
    Replies replies;
    Handshake handshake;
    handshake.begin({});
    handshake.sent(handshake.unsent().size() - 1);
    CHECK(handshake.take(replies("+PONG\r\n")) == Step::accepted);
    CHECK(handshake.take(replies("+OK\r\n")) == Step::unexpected);
}
