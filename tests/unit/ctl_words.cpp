#include "catch.h"

#include <cerrno>
#include <string>

#include "ctl/command_line/words.h"

using namespace petstore;

TEST_CASE("a path is repeated unless it may be a key", "[ctl]")
{
    for (const char* path : {"pets.ndjson", "/home/me/pets-2026/7.json", ""}) {
        CAPTURE(path);
        CHECK(ctl::may_repeat_path(path));
    }
    for (const char* path :
         {"petstore_ZLqKzlOsxX3WXdnqloqeGzvfXlljzxQKVUkxC7J1JBH1jIfZW",
          "./0123456789abcdef", "sk~live", "two words"}) {
        CAPTURE(path);
        CHECK_FALSE(ctl::may_repeat_path(path));
    }
}

TEST_CASE("a file that cannot be opened is named unless it may be a key",
          "[ctl]")
{
    errno = EACCES;
    CHECK(ctl::cannot_open("pets.ndjson")
          == "cannot open pets.ndjson: Permission denied");
    errno = ENOENT;
    CHECK(ctl::cannot_open("petstore_ZLqKzlOsxX3WXdnqloqeGzvfXlljzxQKVUkxC7J1")
          == "cannot open the file: No such file or directory");
}

TEST_CASE("the closest word is found unless none is close", "[ctl]")
{
    const std::vector<std::string> commands = {"create", "import", "list",
                                               "rotate", "enable", "disable",
                                               "delete", "set",    "usage"};
    const auto closest = [&](const char* word) {
        return std::string(ctl::closest(word, commands));
    };
    CHECK(closest("crate") == "create");
    CHECK(closest("craete") == "create");
    CHECK(closest("creates") == "create");
    CHECK(closest("lsit") == "list");
    CHECK(closest("lst") == "list");
    CHECK(closest("delte") == "delete");
    CHECK(closest("disabel") == "disable");
    CHECK(closest("create") == "create");
    CHECK(closest("inport") == "import");
    CHECK(closest("let") == "set");
    CHECK(closest("nonsense").empty());
    CHECK(closest("xyz").empty());
    CHECK(closest("").empty());
    CHECK(ctl::closest("create", {}).empty());
}
