#include "catch.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "redis/command.h"
#include "redis_replies.h"

using petstore::redis::Command;
using petstore::redis::Script;
using Words = std::vector<std::string>;

namespace {

std::string encoded(const Command& command)
{
    std::string out;
    command.append_to(out);
    return out;
}

}  // namespace

TEST_CASE("a command is an array of bulk strings", "[redis]")
{
    CHECK(encoded(Command("PING")) == "*1\r\n$4\r\nPING\r\n");
    CHECK(encoded(Command("SET").arg("key").arg(""))
          == "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n");
    CHECK(encoded(Command("GET").arg(std::string_view("a\r\n\0b", 5)))
          == std::string("*2\r\n$3\r\nGET\r\n$5\r\na\r\n\0b\r\n", 24));
}

TEST_CASE("a command appends to what is there", "[redis]")
{
    std::string out = "before";
    Command("PING").append_to(out);
    CHECK(out == "before*1\r\n$4\r\nPING\r\n");
}

TEST_CASE("integers are written whole", "[redis]")
{
    CHECK(encoded(Command("X")
                      .arg(std::numeric_limits<std::int64_t>::min())
                      .arg(std::int64_t{0}))
          == "*3\r\n$1\r\nX\r\n$20\r\n-9223372036854775808\r\n$1\r\n0\r\n");
}

TEST_CASE("a command keeps what it owns, however much is added", "[redis]")
{
    Command command("X");
    for (int i = 0; i < 300; ++i) {
        command.own("value " + std::to_string(i)).arg(i);
    }
    const Command copy = command;
    const Command moved = std::move(command);
    REQUIRE(moved.argv().size() == 601);
    CHECK(moved.argv()[1] == "value 0");
    CHECK(moved.argv()[599] == "value 299");
    CHECK(moved.argv()[600] == "299");
    CHECK(copy.argv() == moved.argv());
    CHECK(encoded(copy) == encoded(moved));
}

TEST_CASE("an owned empty text is an argument", "[redis]")
{
    CHECK(encoded(Command("X").own("")) == "*2\r\n$1\r\nX\r\n$0\r\n\r\n");
}

TEST_CASE("the first key routes a command", "[redis]")
{
    Command command("SET");
    CHECK(command.routing_key().empty());
    command.arg("no key").own("nor this").arg(1);
    CHECK(command.routing_key().empty());
    command.key("p:first").arg("value").key("p:second");
    CHECK(command.routing_key() == "p:first");

    // Adding arguments or moving the command moves its arguments.
    for (int i = 0; i < 300; ++i) {
        command.key("p:" + std::to_string(i));
    }
    CHECK(command.routing_key() == "p:first");
    const Command copy = command;
    const Command moved = std::move(command);
    CHECK(copy.routing_key() == "p:first");
    CHECK(moved.routing_key() == "p:first");
    CHECK(moved.argv()[4] == "p:first");
}

TEST_CASE("the first key of a script routes its call", "[redis]")
{
    const Script script("return 1");
    Command command(script, 2);
    CHECK(command.routing_key().empty());
    command.key("p:a").key("p:b").arg("value");
    CHECK(words(command)
          == Words{"EVALSHA", script.sha1, "2", "p:a", "p:b", "value"});
    CHECK(command.routing_key() == "p:a");
    command.use_script_text();
    CHECK(words(command)
          == Words{"EVAL", "return 1", "2", "p:a", "p:b", "value"});
    CHECK(command.routing_key() == "p:a");
}

TEST_CASE("a script is called by its text after NOSCRIPT only", "[redis]")
{
    const Script script("return 1");
    Replies replies;
    Command command(script, 0);
    for (const char* reply : {"+NOSCRIPT\r\n", "-ERR NOSCRIPT\r\n",
                              "-noscript x\r\n", "-NOSCRIPTS x\r\n"}) {
        CAPTURE(reply);
        CHECK_FALSE(command.fall_back_to_text(replies(reply)));
    }
    CHECK_FALSE(command.fall_back_to_text(replies(bulk("NOSCRIPT"))));
    CHECK(words(command) == Words{"EVALSHA", script.sha1, "0"});

    for (const bool may_follow_text : {true, false}) {
        CHECK(command.fall_back_to_text(replies("-NOSCRIPT x\r\n")));
        CHECK(words(command) == Words{"EVAL", "return 1", "0"});
        CHECK(command.carried_script() == &script);
        CHECK(command.may_follow_text() == may_follow_text);
        std::string digest;
        command.append_digest_to(digest);
        CHECK(digest == array({bulk("EVALSHA"), bulk(script.sha1), bulk("0")}));
    }
    CHECK_FALSE(command.fall_back_to_text(replies("-NOSCRIPT x\r\n")));
}

TEST_CASE("a plain command has no script to fall back to", "[redis]")
{
    Replies replies;
    Command command("EVALSHA");
    command.arg("0").arg(0);
    CHECK_FALSE(command.fall_back_to_text(replies("-NOSCRIPT x\r\n")));
    CHECK(words(command) == Words{"EVALSHA", "0", "0"});
}

TEST_CASE("a script's digest is the SHA-1 of its text", "[redis]")
{
    CHECK(Script("abc").sha1 == "a9993e364706816aba3e25717850c26c9cd0d89d");
}

TEST_CASE("an owned copy borrows nothing", "[redis]")
{
    std::string borrowed = "a text that is longer than any small string";
    Command command("X");
    command.key("k").arg(borrowed).own("own").arg(7).arg("");
    const std::string bytes = encoded(command);
    const Command copy = command.owned();
    CHECK(copy.size_bound() == command.size_bound());
    borrowed.assign(borrowed.size(), '-');
    command = Command("Y");
    CHECK(encoded(copy) == bytes);
    CHECK(copy.routing_key() == "k");
    CHECK(copy.size_bound() >= bytes.size());
}
