#include "catch.h"

#include <limits>
#include <string>

#include "resp/command.h"

using petstore::resp::Command;

namespace {

std::string encoded(const Command& command)
{
    std::string out;
    command.append_to(out);
    return out;
}

}  // namespace

TEST_CASE("a command is an array of bulk strings", "[resp]")
{
    CHECK(encoded(Command("PING")) == "*1\r\n$4\r\nPING\r\n");
    CHECK(encoded(Command("SET").arg("key").arg(""))
          == "*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n");
    CHECK(encoded(Command("GET").arg(std::string_view("a\r\n\0b", 5)))
          == std::string("*2\r\n$3\r\nGET\r\n$5\r\na\r\n\0b\r\n", 24));
}

TEST_CASE("a command appends to what is there", "[resp]")
{
    std::string out = "before";
    Command("PING").append_to(out);
    CHECK(out == "before*1\r\n$4\r\nPING\r\n");
}

TEST_CASE("integers are written whole", "[resp]")
{
    CHECK(encoded(Command("X")
                      .arg(std::numeric_limits<std::int64_t>::min())
                      .arg(std::int64_t{0}))
          == "*3\r\n$1\r\nX\r\n$20\r\n-9223372036854775808\r\n$1\r\n0\r\n");
}

TEST_CASE("a command keeps what it owns, however much is added", "[resp]")
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

TEST_CASE("an owned empty text is an argument", "[resp]")
{
    CHECK(encoded(Command("X").own("")) == "*2\r\n$1\r\nX\r\n$0\r\n\r\n");
}
