#include "api/text.h"

#include <random>
#include <string>

#include "api/utf8.h"
#include "catch.h"

using namespace petstore::api;
using namespace std::string_literals;

namespace {

std::string appended_int(std::int64_t value)
{
    std::string out = "x";
    append_int(out, value);
    return out;
}

std::string json_string(std::string_view text)
{
    std::string out;
    append_json_string(out, text);
    return out;
}

std::string random_bytes(std::mt19937& random, std::size_t most)
{
    std::string bytes(random() % (most + 1), '\0');
    for (char& byte : bytes) {
        byte = static_cast<char>(random());
    }
    return bytes;
}

}  // namespace

TEST_CASE("an int64 is parsed in its canonical decimal form only", "[text]")
{
    CHECK(parse_int64("0") == 0);
    CHECK(parse_int64("7") == 7);
    CHECK(parse_int64("-1") == -1);
    CHECK(parse_int64("1234567890") == 1234567890);
    CHECK(parse_int64("9223372036854775807") == INT64_MAX);
    CHECK(parse_int64("-9223372036854775808") == INT64_MIN);
}

TEST_CASE("no other form of a number is accepted", "[text]")
{
    for (const std::string& text :
         {""s,
          "-"s,
          "+1"s,
          "-0"s,
          "00"s,
          "01"s,
          "-01"s,
          "1.0"s,
          "1e3"s,
          " 1"s,
          "1 "s,
          "1\n"s,
          "0x10"s,
          "abc"s,
          "1a"s,
          "--1"s,
          "- 1"s,
          "1,000"s,
          "1e0"s,
          "a1"s,
          "0x1"s,
          "18446744073709551617"s,
          "999999999999999999999999999999999999999999"s,
          "1;a=b"s,
          "*"s,
          "~"s,
          "9223372036854775808"s,
          "-9223372036854775809"s,
          "99999999999999999999999999"s,
          "1\0"s,
          "\0"s,
          "\xD9\xA1"s}) {
        CAPTURE(text);
        CHECK_FALSE(parse_int64(text).has_value());
    }
}

TEST_CASE("words are taken from the front of a text", "[text]")
{
    std::string_view text = "one  three ";
    for (const char* word : {"one", "", "three", "", ""}) {
        CHECK(take_word(text) == word);
    }
    CHECK(text.empty());
}

TEST_CASE("integers are appended digit for digit", "[text]")
{
    CHECK(appended_int(0) == "x0");
    CHECK(appended_int(-42) == "x-42");
    CHECK(appended_int(INT64_MAX) == "x9223372036854775807");
    CHECK(appended_int(INT64_MIN) == "x-9223372036854775808");
}

TEST_CASE("UTF-8 length counts code points", "[text]")
{
    CHECK(utf8_length("") == 0u);
    CHECK(utf8_length("abc") == 3u);
    CHECK(utf8_length("\xC3\xA9") == 1u);
    CHECK(utf8_length("\xE2\x82\xAC") == 1u);
    CHECK(utf8_length("\xF0\x9F\x90\xB6x") == 2u);
    CHECK(utf8_length("a\0b"s) == 3u);
    // The ends of each length, and both sides of the surrogates.
    CHECK(utf8_length("\x7F\xC2\x80\xDF\xBF\xE0\xA0\x80\xEF\xBF\xBF") == 5u);
    CHECK(utf8_length("\xED\x9F\xBF\xEE\x80\x80") == 2u);
    CHECK(utf8_length("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF") == 2u);
}

TEST_CASE("invalid UTF-8 has no length", "[text]")
{
    for (const char* text : {
             "\x80",              // lone continuation byte
             "\xBF",              //
             "a\x80",             //
             "\xC3",              // truncated
             "\xC3(",             // no continuation
             "\xE2\x82",          //
             "\xE2(\xAC",         //
             "\xE2\x82(",         //
             "\xF0\x9F\x90",      //
             "\xF0\x9F\x90x",     //
             "\xC0\x80",          // overlong
             "\xC1\xBF",          //
             "\xE0\x80\xAF",      //
             "\xE0\x9F\xBF",      //
             "\xF0\x8F\xBF\xBF",  //
             "\xED\xA0\x80",      // surrogates
             "\xED\xBF\xBF",      //
             "\xF4\x90\x80\x80",  // above U+10FFFF
             "\xF5\x80\x80\x80",  //
             "\xF8\x88\x80\x80\x80",
             "\xFE",
             "\xFF",
         }) {
        CAPTURE(text);
        CHECK_FALSE(utf8_length(text).has_value());
        // At any position.
        for (std::size_t before = 0; before < 20; ++before) {
            const std::string start(before, 'a');
            CHECK_FALSE(is_utf8(start + text));
            CHECK_FALSE(is_utf8(start + text + "a word"));
        }
    }
}

namespace {

std::string utf8_of(char32_t point)
{
    const auto byte = [](char32_t bits) {
        return static_cast<char>(static_cast<unsigned char>(bits));
    };
    if (point < 0x80) {
        return {byte(point)};
    }
    if (point < 0x800) {
        return {byte(0xC0 | point >> 6), byte(0x80 | (point & 0x3F))};
    }
    if (point < 0x10000) {
        return {byte(0xE0 | point >> 12), byte(0x80 | (point >> 6 & 0x3F)),
                byte(0x80 | (point & 0x3F))};
    }
    return {byte(0xF0 | point >> 18), byte(0x80 | (point >> 12 & 0x3F)),
            byte(0x80 | (point >> 6 & 0x3F)), byte(0x80 | (point & 0x3F))};
}

}  // namespace

TEST_CASE("every code point decodes to itself", "[text]")
{
    int wrong = 0;
    for (char32_t point = 0; point <= 0x110000; ++point) {
        const std::string text = utf8_of(point) + "x";
        const bool exists =
            point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
        std::string_view rest = text;
        wrong += take_code_point(rest) != (exists ? point : kNoCodePoint);
        wrong += rest != (exists ? "x" : std::string_view(text));
        wrong += is_utf8(text) != exists;
        wrong += is_utf8("seven b" + text + "and more") != exists;
    }
    CHECK(wrong == 0);
    CHECK(is_utf8(""));
}

TEST_CASE("JSON strings escape only what must be escaped", "[text]")
{
    CHECK(json_string("") == R"("")");
    CHECK(json_string("Rex") == R"("Rex")");
    CHECK(json_string(R"(a"b\c/d)") == R"("a\"b\\c/d")");
    CHECK(json_string("\b\f\n\r\t") == R"("\b\f\n\r\t")");
    CHECK(json_string("\0\x01\x0B\x1F"s) == R"("\u0000\u0001\u000b\u001f")");
    CHECK(json_string(" \x7F") == "\" \x7F\"");
    CHECK(json_string("\xC3\xA9\xF0\x9F\x90\xB6")
          == "\"\xC3\xA9\xF0\x9F\x90\xB6\"");
    CHECK(json_string("\"") == R"("\"")");
    // At any position.
    for (std::size_t before = 0; before < 20; ++before) {
        const std::string start(before, '\xFF');
        for (int value = 0; value < 256; ++value) {
            const std::string one(1, static_cast<char>(value));
            const std::string quoted = json_string(one);
            CHECK(json_string(start + one + "a long end")
                  == "\"" + start + quoted.substr(1, quoted.size() - 2)
                         + "a long end\"");
        }
    }
    CHECK(json_string("\"\"x") == R"("\"\"x")");

    std::string out = "[";
    append_json_string(out, "x");
    CHECK(out == "[\"x\"");
}

TEST_CASE("form decoding", "[text]")
{
    CHECK(form_decode("") == ""s);
    CHECK(form_decode("abc") == "abc"s);
    CHECK(form_decode("a+b%20c") == "a b c"s);
    CHECK(form_decode("%41%4a%4A%7e") == "AJJ~"s);
    CHECK(form_decode("%00%ff") == "\0\xFF"s);
    CHECK(form_decode("%2B%25") == "+%"s);
    CHECK(form_decode("%2525") == "%25"s);

    for (const char* text :
         {"%", "%4", "%4g", "%g4", "a%", "a%1", "%%41", "% 41", "%+1", "%-1"}) {
        CAPTURE(text);
        CHECK_FALSE(form_decode(text).has_value());
    }
}

TEST_CASE("base64url as in RFC 4648, without padding", "[text]")
{
    const std::pair<std::string, std::string> vectors[] = {
        {"", ""},
        {"f", "Zg"},
        {"fo", "Zm8"},
        {"foo", "Zm9v"},
        {"foob", "Zm9vYg"},
        {"fooba", "Zm9vYmE"},
        {"foobar", "Zm9vYmFy"},
        {"\xFB\xFF\xFE", "-__-"},
        {"\0"s, "AA"},
    };
    for (const auto& [bytes, text] : vectors) {
        CAPTURE(text);
        CHECK(base64url_encode(bytes) == text);
        CHECK(base64url_decode(text) == bytes);
    }
}

TEST_CASE("base64url accepts the canonical form only", "[text]")
{
    for (const std::string& text :
         {"Z"s, "Zg=="s, "Zg="s, "Zh"s, "Zm9"s, "Zm9vY"s, "+//+"s, "Zm 9v"s,
          "Zm9v\n"s, "Zm9\0"s, "Zm9\xFF"s, "Zm8="s}) {
        CAPTURE(text);
        CHECK_FALSE(base64url_decode(text).has_value());
    }
}

TEST_CASE("base64url round-trips any bytes", "[text]")
{
    std::mt19937 random(1);
    for (int i = 0; i < 500; ++i) {
        const std::string bytes = random_bytes(random, 40);
        REQUIRE(base64url_decode(base64url_encode(bytes)) == bytes);
    }
}

TEST_CASE("base64url that decodes encodes to the same text", "[text]")
{
    constexpr std::string_view kAlphabet = "AQgwBZz09-_=+/ ";
    std::mt19937 random(2);
    int decoded_count = 0;
    for (int i = 0; i < 3000; ++i) {
        std::string text(random() % 6, ' ');
        for (char& c : text) {
            c = kAlphabet[random() % kAlphabet.size()];
        }
        if (const auto bytes = base64url_decode(text)) {
            ++decoded_count;
            REQUIRE(base64url_encode(*bytes) == text);
        }
    }
    CHECK(decoded_count > 100);
}

TEST_CASE("hexadecimal digits", "[text]")
{
    CHECK(to_hex("") == "");
    CHECK(to_hex("\0\x0F\xA5\xFF"s) == "000fa5ff");
}

TEST_CASE("comparison ignores the case of ASCII letters only", "[text]")
{
    CHECK(equals_ignoring_case("", ""));
    CHECK(equals_ignoring_case("Application/JSON", "application/json"));
    CHECK(equals_ignoring_case("a-z0", "A-Z0"));
    CHECK_FALSE(equals_ignoring_case("a", "ab"));
    CHECK_FALSE(equals_ignoring_case("ab", "a"));
    CHECK_FALSE(equals_ignoring_case("a", "b"));
    CHECK_FALSE(equals_ignoring_case("@", "`"));
    CHECK_FALSE(equals_ignoring_case("[", "{"));
    CHECK_FALSE(equals_ignoring_case("\xC3\x89", "\xC3\xA9"));
}

TEST_CASE("visible ASCII", "[text]")
{
    CHECK(is_visible_ascii("a"));
    CHECK(is_visible_ascii("!~"));
    for (const std::string& text :
         {""s, " "s, "a b"s, "a\t"s, "\x7F"s, "\0"s, "a\x80"s, "\xC3\xA9"s}) {
        CAPTURE(text);
        CHECK_FALSE(is_visible_ascii(text));
    }
}

TEST_CASE("letters and digits are those of ASCII", "[text]")
{
    CHECK(is_alphanumeric_or("azAZ09", ""));
    CHECK(is_alphanumeric_or("a.b-c", ".-"));
    for (const std::string& text :
         {""s, "a b"s, "a_b"s, "a@"s, "`"s, "["s, "{"s, "/"s, ":"s, "a\0b"s,
          "\xE4"s, "\xC3\xA4"s}) {
        CAPTURE(text);
        CHECK_FALSE(is_alphanumeric_or(text, ".-"));
    }
    CHECK(lower('A') == 'a');
    CHECK(lower('Z') == 'z');
    CHECK(lower('[') == '[');
    CHECK(lower('\xC4') == '\xC4');
}

TEST_CASE("a port is 1 to 65535", "[text]")
{
    CHECK(parse_port("1") == 1);
    CHECK(parse_port("65535") == 65535);
    for (const std::string& text :
         {""s, "0"s, "-1"s, "65536"s, "080"s, "80 "s, "4294967376"s}) {
        CAPTURE(text);
        CHECK_FALSE(parse_port(text));
    }
}

TEST_CASE("hostile bytes do not harm the text parsers", "[text]")
{
    std::mt19937 random(3);
    for (int i = 0; i < 2000; ++i) {
        const std::string bytes = random_bytes(random, 24);
        parse_int64(bytes);
        form_decode(bytes);
        base64url_decode(bytes);
        const auto length = utf8_length(bytes);
        REQUIRE(is_utf8(bytes) == length.has_value());
        REQUIRE((!length || *length <= bytes.size()));
        REQUIRE(json_string(bytes).size() >= bytes.size() + 2);
    }
}

TEST_CASE("text that changes the direction of other text", "[api]")
{
    CHECK(has_bidi_control("a\xff\xe2\x80\xae"));
    CHECK_FALSE(has_bidi_control("a\xff\xe2\x80\xb0\xd7\xa9"));
}
