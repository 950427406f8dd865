#include "api/pet.h"

#include <random>
#include <string>

#include "catch.h"

using namespace petstore::api;
using namespace std::string_literals;

namespace {

std::string repeated(std::string_view part, int times)
{
    std::string text;
    while (times-- > 0) {
        text.append(part);
    }
    return text;
}

std::string problem_of(std::string_view name)
{
    const char* problem = name_problem(name);
    return problem == nullptr ? "" : problem;
}

}  // namespace

TEST_CASE("a status is a word in JSON and a letter in Redis", "[pet]")
{
    CHECK(parse_status("available") == Status::available);
    CHECK(parse_status("pending") == Status::pending);
    CHECK(parse_status("sold") == Status::sold);
    CHECK(to_string(Status::available) == "available");
    CHECK(to_string(Status::pending) == "pending");
    CHECK(to_string(Status::sold) == "sold");
    CHECK(status_of_letter('a') == Status::available);
    CHECK(status_of_letter('p') == Status::pending);
    CHECK(status_of_letter('s') == Status::sold);

    for (const std::string& text : {""s, "Available"s, "SOLD"s, "sol"s,
                                    "soldx"s, " sold"s, "sold\0"s, "a"s}) {
        CAPTURE(text);
        CHECK_FALSE(parse_status(text).has_value());
    }
    for (const char letter : {'\0', 'A', 'x', '*', '\xE1'}) {
        CAPTURE(letter);
        CHECK_FALSE(status_of_letter(letter).has_value());
    }
}

TEST_CASE("a pet as JSON", "[pet]")
{
    std::string out = "[";
    append_pet_json(out, {1, "Rex", "42", Status::available});
    out.push_back(',');
    append_pet_json(out, {INT64_MAX, "\"M\xC3\xBCsli\"\\",
                          "-9223372036854775808", Status::pending});
    out.push_back(',');
    append_pet_json(out, {3, "x", "0", Status::sold});
    CHECK(
        out
        == "[{\"id\":1,\"name\":\"Rex\",\"categoryId\":42,\"status\":\"available\"},{\"id\":9223372036854775807,\"name\":\"\\\"M\xC3\xBCsli\\\"\\\\\",\"categoryId\":-9223372036854775808,\"status\":\"pending\"},{\"id\":3,\"name\":\"x\",\"categoryId\":0,\"status\":\"sold\"}");
}

TEST_CASE("names that may be stored", "[pet]")
{
    for (const std::string& name : {
             "a"s,
             "Rex"s,
             " Rex "s,
             "\xE2\x80\x83x"s,  // em space, x
             "\xE2\x80\x8B"s,   // zero width space, not white space
             "\xEF\xBB\xBF"s,   // not white space either
             "\xC2\xAD"s,       // soft hyphen, just above the controls
             "~"s,
             "\xF0\x9F\x90\xB6"s,
             "<script>\"'\\"s,
             repeated("a", 255),
             repeated("\xF0\x9F\x90\xB6", 255),
         }) {
        CAPTURE(name);
        CHECK(problem_of(name) == "");
    }
}

TEST_CASE("a name has 1 to 255 characters", "[pet]")
{
    CHECK(problem_of("") == "must not be empty");
    CHECK(problem_of(repeated("a", 256))
          == "must not be longer than 255 characters");
    CHECK(problem_of(repeated("\xC3\xA9", 256))
          == "must not be longer than 255 characters");
}

TEST_CASE("a name has no control characters", "[pet]")
{
    for (const std::string& name :
         {"\0"s, "a\0"s, "\x01"s, "a\nb"s, "\t"s, "\x1F"s, "a\x7F"s,
          "\xC2\x80"s, "\xC2\x85"s, "x\xC2\x9F"s}) {
        CAPTURE(name);
        CHECK(problem_of(name) == "must not contain control characters");
    }
}

TEST_CASE("a name is not only white space", "[pet]")
{
    for (const std::string& name : {
             " "s,
             "   "s,
             "\xC2\xA0"s,
             "\xE1\x9A\x80"s,
             "\xE2\x80\x80"s,
             "\xE2\x80\x8A"s,
             "\xE2\x80\xA8"s,
             "\xE2\x80\xA9"s,
             "\xE2\x80\xAF"s,
             "\xE2\x81\x9F"s,
             "\xE3\x80\x80"s,
             " \xE3\x80\x80 \xC2\xA0"s,
         }) {
        CAPTURE(name);
        CHECK(problem_of(name) == "must not be only white space");
    }
}

TEST_CASE("a name is UTF-8", "[pet]")
{
    for (const std::string& name :
         {"\xFF"s, "a\x80"s, "\xC3"s, "\xED\xA0\x80"s, "\xC0\x80"s}) {
        CAPTURE(name);
        CHECK(problem_of(name) == "must be valid UTF-8");
    }
}

TEST_CASE("hostile names do no harm", "[pet]")
{
    std::mt19937 random(4);
    int accepted = 0;
    for (int i = 0; i < 3000; ++i) {
        std::string name(random() % 12, '\0');
        for (char& byte : name) {
            byte = static_cast<char>(i % 2 == 0 ? random() : random() % 128);
        }
        accepted += name_problem(name) == nullptr ? 1 : 0;
        std::string out;
        append_pet_json(out, {1, name, "1", Status::sold});
        REQUIRE(out.size() >= name.size() + 47);
    }
    CHECK(accepted > 100);
    CHECK(accepted < 2900);
}
