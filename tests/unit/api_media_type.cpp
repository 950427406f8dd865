#include "api/media_type.h"

#include <string>

#include "catch.h"

using namespace petstore::api;
using namespace std::string_literals;

TEST_CASE("content types that are JSON", "[media_type]")
{
    for (const char* type :
         {"application/json", "Application/JSON", " application/json ",
          "application/json;charset=utf-8", "application/json; charset=UTF-8",
          "application/json ; Charset=\"utf-8\"", "application/json;",
          "application/json; x=y", "application/json; x=y; charset=utf-8"}) {
        CAPTURE(type);
        CHECK(is_json_media_type(type));
    }
}

TEST_CASE("content types that are not JSON", "[media_type]")
{
    for (const std::string& type :
         {""s, ";"s, "text/json"s, "application/jsonx"s, "application/json5"s,
          "application/problem+json"s, "application/x-www-form-urlencoded"s,
          "*/*"s, "json"s, "application/ json"s, "application/json, text/html"s,
          "application/json\0"s, "application/json; charset=latin1"s,
          "application/json; charset="s, "application/json; charset=\""s,
          "application/json; charset=utf-16"s,
          "application/json; x=y; charset=utf-16"s,
          "application/json; charset=utf-8; charset=latin1"s}) {
        CAPTURE(type);
        CHECK_FALSE(is_json_media_type(type));
    }
}
