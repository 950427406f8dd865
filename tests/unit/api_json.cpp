#include "api/json.h"

#include <random>
#include <string>

#include "catch.h"

using namespace petstore::api;
using namespace std::string_literals;

namespace {

NewPet pet_of(std::string_view body)
{
    auto result = parse_new_pet(body);
    if (const auto* error = std::get_if<Error>(&result)) {
        FAIL(body << " gave " << code_name(error->code) << ": "
                  << error->message.text());
    }
    return std::get<NewPet>(result);
}

std::string code_of(std::string_view body)
{
    const auto result = parse_new_pet(body);
    const auto* error = std::get_if<Error>(&result);
    return error == nullptr ? "accepted" : std::string(code_name(error->code));
}

std::string message_of(std::string_view body)
{
    const auto result = parse_new_pet(body);
    const auto* error = std::get_if<Error>(&result);
    return std::string(error == nullptr ? "accepted" : error->message.text());
}

std::string with_name(const std::string& json)
{
    return R"({"categoryId":1,"name":)" + json + "}";
}

std::string with_category(const std::string& json)
{
    return R"({"name":"Rex","categoryId":)" + json + "}";
}

std::string with_status(const std::string& json)
{
    return R"({"name":"Rex","categoryId":1,"status":)" + json + "}";
}

std::string with_member(const std::string& member)
{
    return R"({"name":"Rex","categoryId":1,)" + member + "}";
}

std::string repeated(std::string_view part, int times)
{
    std::string text;
    while (times-- > 0) {
        text.append(part);
    }
    return text;
}

}  // namespace

TEST_CASE("a complete body is parsed as a pet", "[json]")
{
    const NewPet pet =
        pet_of(R"({"name":"Rex","categoryId":42,"status":"sold"})");
    CHECK(pet.name == "Rex");
    CHECK(pet.category_id == 42);
    CHECK(pet.status == Status::sold);
}

TEST_CASE("an omitted status means available", "[json]")
{
    CHECK(pet_of(R"({"name":"Rex","categoryId":42})").status
          == Status::available);
}

TEST_CASE("members come in any order with any white space", "[json]")
{
    const NewPet pet = pet_of("\r\n\t { \"status\" : \"pending\" ,\n"
                              "\"categoryId\" :\t-7 , \"name\":\"x\" } \n");
    CHECK(pet.name == "x");
    CHECK(pet.category_id == -7);
    CHECK(pet.status == Status::pending);
}

TEST_CASE("names are kept unchanged", "[json]")
{
    CHECK(pet_of(with_name(R"("  a  ")")).name == "  a  ");
    CHECK(pet_of(with_name("\"\xF0\x9F\x90\xB6\"")).name == "\xF0\x9F\x90\xB6");
    CHECK(pet_of(with_name(R"("\ud83d\udc36")")).name == "\xF0\x9F\x90\xB6");
    CHECK(pet_of(with_name(R"("\"\\\/\u00e9")")).name == "\"\\/\xC3\xA9");
    CHECK(pet_of(with_name(R"("12345678901234567890123456789e9999")")).name
          == "12345678901234567890123456789e9999");
    CHECK(pet_of(with_name(R"("\"111111111111111111111111111111")")).name
          == "\"111111111111111111111111111111");
}

TEST_CASE("member names may be written with escapes", "[json]")
{
    CHECK(pet_of(R"({"n\u0061me":"Rex","categoryId":1})").name == "Rex");
}

TEST_CASE("unknown members are ignored, whatever they hold", "[json]")
{
    for (const std::string& member :
         {R"("x":null)"s, R"("x":true)"s, R"("x":"y")"s, R"("x":-1.5e3)"s,
          R"("x":[1,[2,{"name":1}]])"s, R"("ID":1)"s, R"("Name":1)"s,
          R"("":0)"s, R"("x":{"id":1,"name":null,"status":null})"s,
          R"("x":[{"id":1},{"id":2}])"s, R"("a":{"x":1},"b":{"x":1})"s,
          R"("x":{},"y":[])"s}) {
        CAPTURE(member);
        const NewPet pet = pet_of(with_member(member));
        CHECK(pet.name == "Rex");
        CHECK(pet.category_id == 1);
        CHECK(pet.status == Status::available);
    }
}

TEST_CASE("numbers beyond double are JSON too", "[json]")
{
    const std::string many = repeated("7", 5000);
    for (const std::string& number :
         {"1e999"s, "-1E+99999"s, "1e-999999"s, many, "-" + many, "0." + many,
          many + "." + many + "e" + many}) {
        CAPTURE(number);
        CHECK(code_of(with_member("\"x\":" + number)) == "accepted");
        CHECK(code_of(with_member("\"x\":[true," + number + ",\"e\"," + number
                                  + "]"))
              == "accepted");
        CHECK(code_of(with_category(number)) == "invalid_field");
    }
    for (const std::string& number :
         {"0" + many, many + ".", "1e"s, "1e+"s, "1e1.5"s, "1." + many + ".1",
          "1e" + many + "e1", "--" + many, many + "x"}) {
        CAPTURE(number);
        CHECK(code_of(with_member("\"x\":" + number)) == "invalid_json");
    }
}

TEST_CASE("categoryId is any int64", "[json]")
{
    CHECK(pet_of(with_category("0")).category_id == 0);
    CHECK(pet_of(with_category("-1")).category_id == -1);
    CHECK(pet_of(with_category("9007199254740993")).category_id
          == 9007199254740993);
    CHECK(pet_of(with_category("9223372036854775807")).category_id
          == INT64_MAX);
    CHECK(pet_of(with_category("-9223372036854775808")).category_id
          == INT64_MIN);
}

TEST_CASE("categoryId is nothing but an int64 in plain digits", "[json]")
{
    for (const char* value : {"1.0",
                              "1e3",
                              "1E0",
                              "0.5",
                              "-0",
                              "-0.0",
                              "0e0",
                              "\"1\"",
                              "null",
                              "true",
                              "[]",
                              "[1]",
                              "{}",
                              R"({"categoryId":1})",
                              "9223372036854775808",
                              "-9223372036854775809",
                              "18446744073709551615",
                              "18446744073709551616",
                              "18446744073709551617",
                              "1000000000000000000000000000000"}) {
        CAPTURE(value);
        CHECK(code_of(with_category(value)) == "invalid_field");
        CHECK(
            message_of(with_category(value))
            == "categoryId must be a 64-bit integer in plain decimal digits.");
    }
}

TEST_CASE("name is a string that may be stored", "[json]")
{
    for (const std::string& value :
         {"1"s, "null"s, "true"s, "[\"x\"]"s, R"({"name":"x"})"s, "1.5"s}) {
        CAPTURE(value);
        CHECK(code_of(with_name(value)) == "invalid_field");
        CHECK(message_of(with_name(value)) == "name must be a string.");
    }
    for (const std::string& value :
         {"\"\""s, "\" \""s, R"("\u3000")"s, R"("\u0000")"s, R"("a\u0000b")"s,
          R"("\n")"s, R"("\u007f")"s, R"("\u0085")"s,
          '"' + repeated("a", 256) + '"',
          '"' + repeated(R"(\u00e9)", 256) + '"'}) {
        CAPTURE(value);
        CHECK(code_of(with_name(value)) == "invalid_field");
    }
    CHECK(message_of(with_name("\"\"")) == "name must not be empty.");
    CHECK(message_of(with_name(R"("\u0000")"))
          == "name must not contain control characters.");
    CHECK(code_of(with_name('"' + repeated(R"(\ud83d\udc36)", 255) + '"'))
          == "accepted");
}

TEST_CASE("status is one of three values", "[json]")
{
    CHECK(pet_of(with_status("\"available\"")).status == Status::available);
    CHECK(pet_of(with_status("\"pending\"")).status == Status::pending);
    CHECK(pet_of(with_status("\"sold\"")).status == Status::sold);
    for (const char* value :
         {"null", "\"\"", "\"Sold\"", "\"gone\"", "1", "true", "[]",
          "[\"sold\"]", R"({"status":"sold"})"}) {
        CAPTURE(value);
        CHECK(code_of(with_status(value)) == "invalid_field");
        CHECK(message_of(with_status(value))
              == "status must be available, pending or sold.");
    }
}

TEST_CASE("an empty body is missing", "[json]")
{
    for (const std::string& body : {""s, " "s, "\r\n\t "s}) {
        CAPTURE(body);
        CHECK(code_of(body) == "missing_body");
    }
    CHECK(code_of("\xC2\xA0") == "invalid_json");
    CHECK(code_of("\f") == "invalid_json");
}

TEST_CASE("name and categoryId are required", "[json]")
{
    CHECK(code_of("{}") == "missing_field");
    CHECK(message_of("{}") == "name is required.");
    CHECK(message_of(R"({"categoryId":1})") == "name is required.");
    CHECK(message_of(R"({"name":"x"})") == "categoryId is required.");
    CHECK(message_of(R"({"x":{"name":"x","categoryId":1}})")
          == "name is required.");
    CHECK(message_of(R"({"Name":"x","categoryid":1})") == "name is required.");
}

TEST_CASE("id is read-only, whatever its value", "[json]")
{
    for (const std::string& member :
         {R"("id":1)"s, R"("id":null)"s, R"("id":"x")"s, R"("id":{})"s,
          R"("id":[])"s, R"("id":1e999)"s, R"("\u0069d":1)"s}) {
        CAPTURE(member);
        CHECK(code_of(with_member(member)) == "read_only_field");
    }
}

TEST_CASE("invalid JSON is refused", "[json]")
{
    const std::string good = R"({"name":"Rex","categoryId":1})";
    for (const std::string& body :
         {"{"s,
          "}"s,
          "{]"s,
          "nul"s,
          "x"s,
          R"({"name")"s,
          R"({"name":)"s,
          R"({"name":"Rex","categoryId":1)"s,
          R"({"name":"Rex","categoryId":1,})"s,
          R"({name:"Rex","categoryId":1})"s,
          R"({'name':'Rex','categoryId':1})"s,
          R"({"name":"Rex" "categoryId":1})"s,
          R"({"name":"Rex","categoryId":01})"s,
          R"({"name":"Rex","categoryId":+1})"s,
          R"({"name":"Rex","categoryId":.5})"s,
          R"({"name":"Rex","categoryId":1.})"s,
          R"({"name":"Rex","categoryId":0x1})"s,
          R"({"name":"Rex","categoryId":NaN})"s,
          R"({"name":"Rex","categoryId":Infinity})"s,
          R"({"name":"Re)"s,
          R"({"name":"Rex\","categoryId":1})"s,
          R"({"name":"\x41","categoryId":1})"s,
          R"({"name":"\u12","categoryId":1})"s,
          "{\"name\":\"a\nb\",\"categoryId\":1}"s,
          "{\"name\":\"a\tb\",\"categoryId\":1}"s,
          good + "x",
          good + "{}",
          good + ",",
          "/**/" + good,
          good + "//",
          "[" + good,
          R"({"name":"Rex","categoryId":1,"x":[1,]})"s,
          R"({"name":"Rex","categoryId":1,"x":[}]})"s}) {
        CAPTURE(body);
        CHECK(code_of(body) == "invalid_json");
    }
}

TEST_CASE("a NUL byte does not end a body", "[json]")
{
    const std::string good = R"({"name":"Rex","categoryId":1})";
    CHECK(code_of(good + '\0') == "invalid_json");
    CHECK(code_of(good + "\0garbage"s) == "invalid_json");
    CHECK(code_of('\0' + good) == "invalid_json");
    CHECK(code_of("{\"name\":\"R\0ex\",\"categoryId\":1}"s) == "invalid_json");
}

TEST_CASE("a byte order mark is refused", "[json]")
{
    const std::string good = R"({"name":"Rex","categoryId":1})";
    CHECK(code_of("\xEF\xBB\xBF" + good) == "invalid_json");
    CHECK(code_of(" \xEF\xBB\xBF" + good) == "invalid_json");
    CHECK(code_of("\xEF\xBB\xBF") == "invalid_json");
    CHECK(code_of("\xEF\xBB") == "invalid_json");
    CHECK(code_of("\xFE\xFF" + good) == "invalid_json");
    CHECK(code_of("{\0}\0"s) == "invalid_json");
}

TEST_CASE("strings must be UTF-8, everywhere", "[json]")
{
    for (const std::string& bytes :
         {"\xFF"s, "\x80"s, "\xC3"s, "\xC0\x80"s, "\xED\xA0\x80"s,
          "\xF4\x90\x80\x80"s, "\xE2\x82"s}) {
        CAPTURE(bytes);
        CHECK(code_of(with_name('"' + bytes + '"')) == "invalid_json");
        CHECK(code_of(with_member("\"x\":[\"" + bytes + "\"]"))
              == "invalid_json");
        CHECK(code_of(with_member('"' + bytes + "\":1")) == "invalid_json");
    }
}

TEST_CASE("lone surrogates are refused", "[json]")
{
    for (const char* text :
         {R"("\ud83d")", R"("\udc36")", R"("\ud83dx")", R"("\ud83d\n")",
          R"("\ud83d\u0041")", R"("\ud83d\ud83d")", R"("\udc36\ud83d")"}) {
        CAPTURE(text);
        CHECK(code_of(with_name(text)) == "invalid_json");
        CHECK(code_of(with_member("\"x\":"s + text)) == "invalid_json");
    }
}

TEST_CASE("names must not repeat at any level", "[json]")
{
    for (const std::string& member :
         {R"("name":"Rex")"s, R"("n\u0061me":"Rex")"s, R"("x":1,"x":1)"s,
          R"("x":{"a":1,"a":2})"s, R"("x":[[{"a":1,"b":2,"a":1}]])"s,
          R"("":1,"":2)"s, R"("x":{"y":{"b":1},"z":2,"y":3})"s,
          R"("x":1,"y":{"z":1},"x":1)"s}) {
        CAPTURE(member);
        CHECK(code_of(with_member(member)) == "invalid_json");
        CHECK(message_of(with_member(member))
              == "The body has an object with a duplicate name.");
    }
    CHECK(code_of(R"({"id":1,"id":1})") == "invalid_json");
    CHECK(code_of(with_member(R"("x":{"name":1,"x":{"x":1}})")) == "accepted");
    CHECK(code_of(with_member(R"("a":1,"A":1,"aa":1,"a\u0000":1)"))
          == "accepted");
}

TEST_CASE("nesting ends at 16 levels", "[json]")
{
    const auto nested = [](int levels) {
        return with_member("\"x\":" + repeated("[", levels - 1)
                           + repeated("]", levels - 1));
    };
    const auto nested_objects = [](int levels) {
        return with_member("\"x\":" + repeated(R"({"x":)", levels - 1) + "1"
                           + repeated("}", levels - 1));
    };
    CHECK(code_of(nested(16)) == "accepted");
    CHECK(code_of(nested_objects(16)) == "accepted");
    CHECK(code_of(nested(17)) == "invalid_json");
    CHECK(code_of(nested_objects(17)) == "invalid_json");
    CHECK(message_of(nested(17)) == "The body is nested too deeply.");
    CHECK(code_of(repeated("[", 100'000)) == "invalid_json");
    CHECK(code_of(repeated(R"({"x":)", 100'000)) == "invalid_json");
    // Depth counts what is open at once, not all that was opened.
    CHECK(code_of(with_member("\"x\":[" + repeated("[],{},", 100) + "[]]"))
          == "accepted");
}

TEST_CASE("the body must be an object", "[json]")
{
    for (const char* body : {"[]", "null", "true", "1", "-1", "1.5", "\"x\"",
                             R"([{"name":"Rex","categoryId":1}])"}) {
        CAPTURE(body);
        CHECK(code_of(body) == "invalid_json");
        CHECK(message_of(body) == "The body must be a JSON object.");
    }
}

TEST_CASE("whole bodies that are refused, and their codes", "[json]")
{
    // The object itself is the first level.
    const std::string too_deep = R"({"name":"n","categoryId":1,"x":)"
                                 + repeated("[", 16) + repeated("]", 16) + "}";
    const std::pair<std::string, std::string_view> rows[] = {
        {"", "missing_body"},
        {" \r\n\t", "missing_body"},
        {"{", "invalid_json"},
        {"{}x", "invalid_json"},
        {"nonsense", "invalid_json"},
        {"{\"name\":\"n\",\"categoryId\":1,}", "invalid_json"},
        {"{'name':'n','categoryId':1}", "invalid_json"},
        {"{\"name\":\"n\",\"categoryId\":01}", "invalid_json"},
        {"{\"name\":\"n\",\"categoryId\":+1}", "invalid_json"},
        {"{\"name\":\"n\",\"categoryId\":NaN}", "invalid_json"},
        {"{\"name\":\"n\" /* */,\"categoryId\":1}", "invalid_json"},
        {"{\"name\":\"a\tb\",\"categoryId\":1}", "invalid_json"},
        {"{\"name\":\"n\",\"name\":\"n\",\"categoryId\":1}", "invalid_json"},
        {"{\"name\":\"n\",\"n\\u0061me\":\"n\",\"categoryId\":1}",
         "invalid_json"},
        {"{\"x\":{\"a\":1,\"a\":2},\"name\":\"n\",\"categoryId\":1}",
         "invalid_json"},
        {"\xEF\xBB\xBF{\"name\":\"n\",\"categoryId\":1}", "invalid_json"},
        {"{\"name\":\"\xFF\",\"categoryId\":1}", "invalid_json"},
        {"{\"name\":\"\xC0\xAF\",\"categoryId\":1}", "invalid_json"},
        {"{\"name\":\"\xED\xA0\x80\",\"categoryId\":1}", "invalid_json"},
        {"{\"name\":\"\\ud800\",\"categoryId\":1}", "invalid_json"},
        {"{\"name\":\"\\udc00\\ud800\",\"categoryId\":1}", "invalid_json"},
        {"{\"x\":\"\\ud800\",\"name\":\"n\",\"categoryId\":1}", "invalid_json"},
        {"{\"name\":\"n\",\"categoryId\":1}{}", "invalid_json"},
        {std::string("{\"name\":\"n\",\"categoryId\":1}\0", 28),
         "invalid_json"},
        {std::string("{\"name\":\"n\",\"categoryId\":1}\0x", 29),
         "invalid_json"},
        {std::string("\0{\"name\":\"n\",\"categoryId\":1}", 28),
         "invalid_json"},
        {std::string("\0", 1), "invalid_json"},
        {too_deep, "invalid_json"},
        {repeated("[", 5000), "invalid_json"},
        {"{}", "missing_field"},
        {"{\"name\":\"n\"}", "missing_field"},
        {"{\"categoryId\":1}", "missing_field"},
        {"{\"name\":null,\"categoryId\":1}", "invalid_field"},
        {"{\"name\":1,\"categoryId\":1}", "invalid_field"},
        {"{\"name\":[\"n\"],\"categoryId\":1}", "invalid_field"},
        {"{\"name\":\"\",\"categoryId\":1}", "invalid_field"},
        {"{\"name\":\"   \",\"categoryId\":1}", "invalid_field"},
        {"{\"name\":\"a\\u0000b\",\"categoryId\":1}", "invalid_field"},
        {"{\"name\":\"a\\nb\",\"categoryId\":1}", "invalid_field"},
        {"{\"name\":\"a\\u007f\",\"categoryId\":1}", "invalid_field"},
        {"{\"name\":\"a\\u0085\",\"categoryId\":1}", "invalid_field"},
        {"{\"name\":\"" + repeated("x", 256) + "\",\"categoryId\":1}",
         "invalid_field"},
        {"{\"name\":\"" + repeated("\xF0\x9F\x90\x88", 256)
             + "\",\"categoryId\":1}",
         "invalid_field"},
        {"{\"name\":\"n\",\"categoryId\":null}", "invalid_field"},
        {"{\"name\":\"n\",\"categoryId\":\"1\"}", "invalid_field"},
        {"{\"name\":\"n\",\"categoryId\":1.0}", "invalid_field"},
        {"{\"name\":\"n\",\"categoryId\":1e3}", "invalid_field"},
        {"{\"name\":\"n\",\"categoryId\":true}", "invalid_field"},
        {"{\"name\":\"n\",\"categoryId\":{}}", "invalid_field"},
        {"{\"name\":\"n\",\"categoryId\":9223372036854775808}",
         "invalid_field"},
        {"{\"name\":\"n\",\"categoryId\":-9223372036854775809}",
         "invalid_field"},
        {"{\"name\":\"n\",\"categoryId\":1e999}", "invalid_field"},
        {"{\"name\":\"n\",\"categoryId\":1,\"status\":null}", "invalid_field"},
        {"{\"name\":\"n\",\"categoryId\":1,\"status\":\"\"}", "invalid_field"},
        {"{\"name\":\"n\",\"categoryId\":1,\"status\":\"Sold\"}",
         "invalid_field"},
        {"{\"name\":\"n\",\"categoryId\":1,\"status\":1}", "invalid_field"},
        {"{\"id\":1,\"name\":\"n\",\"categoryId\":1}", "read_only_field"},
        {"{\"id\":null,\"name\":\"n\",\"categoryId\":1}", "read_only_field"},
        {"[]", "invalid_json"},
        {"null", "invalid_json"},
        {"1", "invalid_json"},
        {"\"text\"", "invalid_json"},
        {"[{\"name\":\"n\"}]", "invalid_json"},
    };
    for (const auto& [body, code] : rows) {
        CAPTURE(body.substr(0, 200));
        CHECK(code_of(body) == code);
    }
}

TEST_CASE("an id may be ignored instead of refused", "[json]")
{
    const auto imported = [](std::string_view line) {
        PetId id = 0;
        const auto result = parse_exported_pet(line, id);
        const auto* error = std::get_if<Error>(&result);
        return error == nullptr ? std::get<NewPet>(result).name
                                : std::string(code_name(error->code));
    };
    for (const char* id : {"1", "-7", "1e999", "\"x\"", "null",
                           "[1,{\"id\":2}]", "{\"name\":\"y\",\"a\":\"}\"}"}) {
        CAPTURE(id);
        const std::string member = "\"id\":"s + id;
        CHECK(imported("{" + member + R"(,"name":"Rex","categoryId":1})")
              == "Rex");
        CHECK(imported(R"({"name":"Rex",)" + member + R"(,"categoryId":1})")
              == "Rex");
        CHECK(imported(with_member(member)) == "Rex");
    }
    CHECK(imported(R"({"\u0069d":1,"name":"Rex","categoryId":1})") == "Rex");
    CHECK(imported(R"({"id":1,"name":"Rex"})") == "missing_field");
    CHECK(imported(R"({"id":1,"id":1})") == "invalid_json");
    CHECK(imported(R"({"id":})") == "invalid_json");
}

TEST_CASE("the id of an exported pet is an integer above 0", "[json]")
{
    const auto id_of = [](const std::string& member) {
        PetId id = -1;
        parse_exported_pet(R"({"name":"Rex","categoryId":1)" + member + "}",
                           id);
        return id;
    };
    CHECK(id_of(R"(,"id":7)") == 7);
    CHECK(id_of(R"(,"id":9223372036854775807)") == 9223372036854775807);
    for (const char* none :
         {"", R"(,"id":0)", R"(,"id":-7)", R"(,"id":1.0)", R"(,"id":1e3)",
          R"(,"id":"7")", R"(,"id":null)", R"(,"id":[7])", R"(,"x":{"id":7})",
          R"(,"id":9223372036854775808)"}) {
        CAPTURE(none);
        CHECK(id_of(none) == 0);
    }
}

TEST_CASE("the first of several errors in a fixed order is reported", "[json]")
{
    // Order: syntax errors anywhere, then id, then missing members, then
    // invalid ones.
    CHECK(code_of(R"({"id":1,"name":2)") == "invalid_json");
    CHECK(code_of(R"({"name":2,"categoryId":"x","x":[}])") == "invalid_json");
    CHECK(code_of(R"({"name":1,"id":1})") == "read_only_field");
    CHECK(code_of(R"({"id":1})") == "read_only_field");
    CHECK(message_of(R"({"name":1})") == "categoryId is required.");
    CHECK(message_of(R"({"status":1})") == "name is required.");
    CHECK(message_of(R"({"status":1,"categoryId":"x","name":1})")
          == "name must be a string.");
    CHECK(message_of(R"({"status":1,"categoryId":"x","name":""})")
          == "name must not be empty.");
    CHECK(message_of(R"({"status":1,"categoryId":"x","name":"x"})")
          == "categoryId must be a 64-bit integer in plain decimal digits.");
}

TEST_CASE("messages never echo the body", "[json]")
{
    for (const std::string& body :
         {R"({"name":"SECRET)"s, R"({"SECRET":1,"SECRET":2})"s, "SECRET"s,
          R"("SECRET")"s, with_status("\"SECRET\""),
          with_category("\"SECRET\""), with_name("\"SECRET\\n\""),
          "{\"name\":\"SECRET\xFF\"}"s}) {
        CAPTURE(body);
        CHECK(code_of(body) != "accepted");
        CHECK(message_of(body).find("SECRET") == std::string::npos);
    }
}

TEST_CASE("many names in one object cost little", "[json]")
{
    std::string members;
    for (int i = 0; i < 5000; ++i) {
        members += "\"member" + std::to_string(i) + "\":{},";
    }
    CHECK(code_of(with_member(members + "\"x\":1")) == "accepted");
    CHECK(code_of(with_member(members + "\"member0\":1")) == "invalid_json");
}

TEST_CASE("bodies cut anywhere are refused", "[json]")
{
    const std::string good =
        R"({"name":"R\u00e9\ud83d\udc36","categoryId":-12,"x":[1.5e3,{"y":null}]})";
    REQUIRE(code_of(good) == "accepted");
    for (std::size_t size = 1; size < good.size(); ++size) {
        CAPTURE(size);
        REQUIRE(code_of(good.substr(0, size)) == "invalid_json");
    }
}

TEST_CASE("hostile bodies do no harm", "[json]")
{
    const std::string good =
        R"({"name":"R\u00e9x \ud83d\udc36","categoryId":-12,"status":"sold",)"
        R"("x":[1.5e3,{"y":null,"z":"\n"},true]})";
    std::mt19937 random(5);
    int accepted = 0;
    for (int i = 0; i < 3000; ++i) {
        std::string body = good;
        for (auto changes = random() % 4; changes-- > 0;) {
            const std::size_t at = random() % body.size();
            switch (random() % 3) {
            case 0:
                body[at] = static_cast<char>(random());
                break;
            case 1:
                body.erase(at, 1 + random() % 3);
                break;
            default:
                body.insert(at, 1, R"({}[]",:\0e9-)"[random() % 12]);
                break;
            }
        }
        const auto result = parse_new_pet(body);
        if (const auto* pet = std::get_if<NewPet>(&result)) {
            ++accepted;
            REQUIRE(name_problem(pet->name) == nullptr);
        } else {
            REQUIRE(http_status(std::get<Error>(result).code) == 400);
        }
    }
    CHECK(accepted > 500);
    CHECK(accepted < 2500);
}

TEST_CASE("random bytes are not JSON", "[json]")
{
    std::mt19937 random(6);
    for (int i = 0; i < 1000; ++i) {
        std::string body(1 + random() % 30, '\0');
        for (char& byte : body) {
            byte = static_cast<char>(random());
        }
        body += '!';
        REQUIRE(code_of(body) == "invalid_json");
    }
}
