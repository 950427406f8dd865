#include "api/key.h"

#include <string>

#include "catch.h"

using namespace petstore::api;
using namespace std::string_literals;

TEST_CASE("scopes are read and written", "[key]")
{
    const struct {
        std::string text;
        unsigned bits;
        std::string written;
    } rows[] = {
        {"read", kScopeRead, "read"},
        {"write", kScopeWrite, "write"},
        {"read,write", kScopeAll, "read,write"},
        {"write,read", kScopeAll, "read,write"},
        {"read,read", kScopeRead, "read"},
        {"admin", 0, "admin"},
        {"admin,write,reports:daily", kScopeWrite, "write,admin,reports:daily"},
        {"a,b,a,read,b", kScopeRead, "read,a,b"},
        {"reads,rea", 0, "reads,rea"},
        {"0:._-z", 0, "0:._-z"},
        {std::string(64, 'x'), 0, std::string(64, 'x')},
        {"a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p", 0,
         "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.text);
        KeyRecord key;
        CHECK(set_scopes(key, row.text));
        CHECK(key.scopes == row.bits);
        CHECK(scopes_text(key) == row.written);
    }
}

TEST_CASE("invalid scopes change nothing", "[key]")
{
    for (const std::string& text :
         {""s, ","s, "read,"s, ",read"s, "read,,write"s, "Read"s, "read write"s,
          "read, write"s, "read;write"s, "read\0"s, "a/b"s, "\xC3\xA9"s,
          std::string(65, 'x'), "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q"s}) {
        CAPTURE(text);
        KeyRecord key;
        REQUIRE(set_scopes(key, "write,admin"));
        CHECK_FALSE(set_scopes(key, text));
        CHECK(scopes_text(key) == "write,admin");
    }
}

TEST_CASE("a new key may do everything", "[key]")
{
    const KeyRecord key;
    CHECK(key.plan.empty());
    CHECK(scopes_text(key) == "read,write");
    CHECK(key.allows(Operation::list_pets));
    CHECK(key.allows(Operation::get_pet));
    CHECK(key.allows(Operation::create_pet));
    CHECK(key.usable_at(0));
    CHECK(key.usable_at(INT64_MAX));
}

TEST_CASE("ids are safe in Redis keys, headers and log lines", "[key]")
{
    CHECK(is_id("k1"));
    CHECK(is_id("vScMcQM2JXBoB75g"));
    CHECK(is_id("-_"));
    CHECK(is_id(std::string(64, 'Z')));
    for (const std::string& id :
         {std::string(), std::string(65, 'a'), std::string("a b"),
          std::string("a\r\nX: 1"), std::string("a}b"), std::string("a:b"),
          std::string("a\0b", 3), std::string("\xC3\xA9"),
          std::string("a\"")}) {
        CAPTURE(id);
        CHECK_FALSE(is_id(id));
    }
}

TEST_CASE("up to four last characters of a key are shown", "[key]")
{
    CHECK(is_last4(""));
    CHECK(is_last4("~!wX"));
    CHECK_FALSE(is_last4("12345"));
    CHECK_FALSE(is_last4("1 34"));
    CHECK_FALSE(is_last4("12\n"));
}

TEST_CASE("scopes decide what a key may do", "[key]")
{
    KeyRecord key;
    key.scopes = kScopeRead;
    CHECK(key.allows(Operation::list_pets));
    CHECK(key.allows(Operation::get_pet));
    CHECK_FALSE(key.allows(Operation::create_pet));
    CHECK(key.allows(Operation::none));

    key.scopes = kScopeWrite;
    CHECK_FALSE(key.allows(Operation::list_pets));
    CHECK_FALSE(key.allows(Operation::get_pet));
    CHECK(key.allows(Operation::create_pet));
    CHECK(key.allows(Operation::none));
}

TEST_CASE("a key ends at its expiry or when disabled", "[key]")
{
    KeyRecord key;
    key.expires = 1000;
    CHECK(key.usable_at(999));
    CHECK_FALSE(key.usable_at(1000));
    CHECK_FALSE(key.usable_at(1001));

    key.disabled = true;
    CHECK_FALSE(key.usable_at(999));
    key.expires.reset();
    CHECK_FALSE(key.usable_at(0));
}
