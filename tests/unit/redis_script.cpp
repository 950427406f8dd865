#include "catch.h"

#include <string>
#include <vector>

#include "redis/command.h"
#include "redis/script.h"
#include "redis_replies.h"

using namespace petstore;
using redis::Script;
using Words = std::vector<std::string>;

TEST_CASE("a script's digest is the SHA-1 of its text in hex", "[redis]")
{
    const Script script("return 1");
    CHECK(script.text == "return 1");
    // As replied by SCRIPT LOAD.
    CHECK(script.sha1 == "e0e1f9fabfc9d4800c877a703b823ac0578ff8db");
    CHECK(Script("").sha1 == "da39a3ee5e6b4b0d3255bfef95601890afd80709");
}

TEST_CASE("a call names its script by digest until the text is needed",
          "[redis]")
{
    const Script script("return KEYS[1]");
    redis::Command command(script, 3);
    CHECK(words(command) == Words{"EVALSHA", script.sha1, "3"});
    command.use_script_text();
    CHECK(words(command) == Words{"EVAL", "return KEYS[1]", "3"});
}
