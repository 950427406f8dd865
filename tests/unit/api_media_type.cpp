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
          "application/json; charset=utf-8", "application/json;charset=UTF-8",
          "Application/JSON ; charset=\"utf-8\"",
          "application/json ; Charset=\"utf-8\"", "application/json;",
          "application/json; x=y", "application/json; x=y; charset=utf-8",
          "application/json; charset = utf-8",
          "application/json; x=\";charset=latin1\""}) {
        CAPTURE(type);
        CHECK(is_json_media_type(type));
    }
}

TEST_CASE("content types that are not JSON", "[media_type]")
{
    for (const std::string& type :
         {""s,
          ";"s,
          "text/json"s,
          "application/jsonx"s,
          "application/json5"s,
          "application/problem+json"s,
          "application/x-www-form-urlencoded"s,
          "*/*"s,
          "json"s,
          "text/plain"s,
          "application/merge-patch+json"s,
          "multipart/form-data; boundary=x"s,
          "application/json; charset=iso-8859-1"s,
          "application/ json"s,
          "application/json, text/html"s,
          "application/json\0"s,
          "application/json; charset=latin1"s,
          "application/json; charset = latin1"s,
          "application/json; charset="s,
          "application/json; charset=\""s,
          "application/json; charset=utf-16"s,
          "application/json; x=y; charset=utf-16"s,
          "application/json; charset=utf-8; charset=latin1"s}) {
        CAPTURE(type);
        CHECK_FALSE(is_json_media_type(type));
    }
}

TEST_CASE("an Accept header that prefers one type to another", "[media_type]")
{
    const auto prefers_html = [](const char* accept) {
        return prefers(accept, "text/html", "text/plain");
    };
    for (const char* accept :
         {"text/html", "TEXT/HTML", "text/html,application/xml;q=0.9,*/*;q=0.8",
          "text/html, */*", "text/*;q=0.5, text/html", "text/html;level=1",
          "text/plain;q=0.4, text/html;q=0.5", "text/html;q=0.001",
          "text/plain;q=0, */*", "text/plain;q=0.9, text/html;q=1.000",
          "text/html;q=0.5, text/plain;q=0.4, text/html;q=0.3",
          "text/html ; q=0.5 ; x=y, text/plain;q=0.49",
          "a/b;c=\"d,e;q=0\\\"\", text/html",
          "text/html;Q=0.5,text/plain;q=0.4", ",,text/html", "text/html;x=\"a",
          "text/plain;q=2, text/html;q=0.1",
          "text/plain;q=, text/html;q=0.1"}) {
        CAPTURE(accept);
        CHECK(prefers_html(accept));
        CHECK_FALSE(prefers(accept, "text/plain", "text/html"));
    }
    for (
        const char* accept :
        {"", "*/*", "text/*", "text/html;q=0", "text/html;q=0.000, */*",
         "text/html;q=0.5, text/plain", "text/html, text/plain",
         "text/html;q=0.5, */*", "text/htmlx", "x/text/html", "text",
         "application/json", "text/html;q=0.5, text/*;q=0.6",
         "text/html;q=1.001", "text/html;q=0.1234", "text/html;q=-1",
         "text/html;q=x", "text/html;q=.5", "*/html",
         // Prometheus
         "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"}) {
        CAPTURE(accept);
        CHECK_FALSE(prefers_html(accept));
    }
}
