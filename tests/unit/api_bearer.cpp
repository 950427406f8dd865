#include "api/bearer.h"

#include <cctype>
#include <random>
#include <string>

#include "catch.h"

using namespace petstore::api;
using namespace std::string_literals;

namespace {

// Created by another implementation from 32 zero bytes, 32 bytes 0xFF and the
// bytes 0 to 31.
constexpr char kZeroKey[] =
    "petstore_00000000000000000000000000000000000000000002hcngJ";
constexpr char kOnesKey[] =
    "petstore_yhjskwdA6OZ1AL1YmHWZWm8LLG7HjnuCA2j5rOw8Xp111md6p";
constexpr char kCountKey[] =
    "petstore_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf3UTSuh";
constexpr char kStagingKey[] =
    "staging_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf4Rjffd";

Digest filled(unsigned char byte)
{
    Digest digest;
    digest.fill(byte);
    return digest;
}

Digest counting()
{
    Digest digest;
    for (std::size_t i = 0; i < digest.size(); ++i) {
        digest[i] = static_cast<unsigned char>(i);
    }
    return digest;
}

Digest random_digest(std::mt19937& random)
{
    Digest digest;
    for (unsigned char& byte : digest) {
        byte = static_cast<unsigned char>(random());
    }
    return digest;
}

}  // namespace

TEST_CASE("the token of a Bearer header", "[bearer]")
{
    const std::pair<const char*, const char*> rows[] = {
        {"Bearer abc", "abc"},
        {"bearer abc", "abc"},
        {"BEARER abc", "abc"},
        {"bEaReR abc", "abc"},
        {"Bearer    abc", "abc"},
        {"Bearer abc  ", "abc"},
        {"Bearer abc \t", "abc"},
        {"Bearer a b", "a b"},
        {"Bearer x", "x"},
        {"\tBearer abc", "abc"},
        {" \t Bearer abc\t", "abc"},
        {"Bearer a,b", "a,b"},
        {"Bearer \tabc", "\tabc"},
        {"Bearer Bearer abc", "Bearer abc"},
        {"Bearer \xC3\xA9", "\xC3\xA9"},
    };
    for (const auto& [header, token] : rows) {
        CAPTURE(header);
        const auto result = bearer_token(header);
        REQUIRE(result.has_value());
        CHECK(*result == token);
    }
}

TEST_CASE("headers without a Bearer token", "[bearer]")
{
    for (const std::string& header : {""s,
                                      " "s,
                                      "Bearer"s,
                                      "Bearer "s,
                                      "Bearer   "s,
                                      "Bearer \t"s,
                                      "Bearerabc"s,
                                      "Bearer\tabc"s,
                                      "Bearer,abc"s,
                                      "Bearer:abc"s,
                                      "Basic abc"s,
                                      "Bear abc"s,
                                      "Bearers abc"s,
                                      "\t"s,
                                      " \tabc"s,
                                      "abc"s,
                                      "Token abc"s,
                                      "Bearer\0abc"s,
                                      "Basic YTpi"s,
                                      "Bearer    "s,
                                      "Bearer\t"s,
                                      "Token x"s,
                                      "bearer"s,
                                      "Bearer=abc"s}) {
        CAPTURE(header);
        CHECK_FALSE(bearer_token(header).has_value());
    }
}

TEST_CASE("keys equal those made by other implementations", "[bearer]")
{
    CHECK(make_key("petstore", filled(0)) == kZeroKey);
    CHECK(make_key("petstore", filled(0xFF)) == kOnesKey);
    CHECK(make_key("petstore", counting()) == kCountKey);
    CHECK(make_key("staging", counting()) == kStagingKey);
}

TEST_CASE("issued keys are recognized by their checksum", "[bearer]")
{
    CHECK(key_form(kZeroKey, "petstore") == KeyForm::issued);
    CHECK(key_form(kOnesKey, "petstore") == KeyForm::issued);
    CHECK(key_form(kCountKey, "petstore") == KeyForm::issued);
    CHECK(key_form(kStagingKey, "staging") == KeyForm::issued);
}

TEST_CASE("issued keys of another installation count as imported", "[bearer]")
{
    CHECK(key_form(kStagingKey, "petstore") == KeyForm::imported);
    CHECK(key_form(kCountKey, "staging") == KeyForm::imported);
    CHECK(key_form(kCountKey, "pet") == KeyForm::imported);
}

TEST_CASE("a key with any one character changed is malformed", "[bearer]")
{
    const std::string good = kCountKey;
    for (std::size_t i = 9; i < good.size(); ++i) {
        for (const char c : {'0', '1', 'A', 'Z', 'a', 'z'}) {
            std::string key = good;
            key[i] = c;
            if (key != good) {
                CAPTURE(key);
                REQUIRE(key_form(key, "petstore") == KeyForm::malformed);
            }
        }
        if (i + 1 < good.size() && good[i] != good[i + 1]) {
            std::string key = good;
            std::swap(key[i], key[i + 1]);
            CAPTURE(key);
            REQUIRE(key_form(key, "petstore") == KeyForm::malformed);
        }
    }
}

TEST_CASE("any other visible token may be an imported key", "[bearer]")
{
    const std::string issued = kCountKey;
    for (const std::string& token :
         {"x"s, "a"s, "some-imported-key"s, issued.substr(1), issued + "x",
          "petstore_"s, "petstore"s, "sk-live-123"s, "a/b+c=="s, "!~"s,
          issued + "a", issued.substr(0, issued.size() - 1),
          "Petstore_" + issued.substr(9), "petstore-" + issued.substr(9),
          issued.substr(0, 20) + "-" + issued.substr(21),
          issued.substr(0, 57) + "_", std::string(512, 'k')}) {
        CAPTURE(token);
        CHECK(key_form(token, "petstore") == KeyForm::imported);
    }
}

TEST_CASE("tokens that cannot be keys", "[bearer]")
{
    const std::string issued = kCountKey;
    for (const std::string& token :
         {""s, " "s, "a b"s, "two words"s, "caf\xC3\xA9"s, "a\tb"s, "\x7F"s,
          "\0"s, "a\0"s, "\xC3\xA9"s, "abc\n"s, std::string(513, 'k'),
          std::string(100'000, 'k'),
          issued.substr(0, 20) + " " + issued.substr(21),
          issued.substr(0, 57) + "\x80"}) {
        CAPTURE(token.size());
        CHECK(key_form(token, "petstore") == KeyForm::malformed);
    }
}

TEST_CASE("created keys have the issued form and differ", "[bearer]")
{
    std::mt19937 random(8);
    std::string last;
    for (int i = 0; i < 500; ++i) {
        const std::string key = make_key("petstore", random_digest(random));
        REQUIRE(key.size() == 58);
        REQUIRE(key_form(key, "petstore") == KeyForm::issued);
        REQUIRE(key != last);
        last = key;
    }
}

TEST_CASE("short ids are the leading digits", "[bearer]")
{
    CHECK(base62_id(filled(0xFF), 12) == "yhjskwdA6OZ1");
    CHECK(base62_id(counting(), 1) == "0");
    CHECK(base62_id(counting(), 43)
          == "003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf");
    CHECK(base62_id(counting(), 99).size() == 43);
    CHECK(base62_id(counting(), 0) == "");
}

TEST_CASE("hostile tokens do no harm", "[bearer]")
{
    std::mt19937 random(9);
    for (int i = 0; i < 2000; ++i) {
        std::string token(random() % 70, '\0');
        for (char& byte : token) {
            byte = static_cast<char>(random());
        }
        REQUIRE(key_form(token, "petstore") != KeyForm::issued);
        REQUIRE(key_form("petstore_" + token, "petstore") != KeyForm::issued);
        bearer_token(token);
        const auto inner = bearer_token("Bearer " + token);
        REQUIRE((!inner || inner->size() <= token.size()));
    }
}
