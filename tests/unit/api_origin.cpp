#include "api/origin.h"

#include <string>

#include "catch.h"

using namespace petstore::api;

namespace {

std::string problem_of(std::string_view text)
{
    const char* problem = origin_problem(text);
    return problem == nullptr ? "" : problem;
}

bool has(const std::string& text, std::string_view part)
{
    return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("origins that browsers send", "[origin]")
{
    for (const char* text :
         {"https://app.example.com",
          "http://localhost",
          "http://localhost:3000",
          "https://example.com:8443",
          "http://example.com:443",
          "https://example.com:80",
          "https://example.com:65535",
          "https://a",
          "https://example.com.",
          "https://a-b_c.example",
          "https://1password.com",
          "https://4.example",
          "https://xn--bcher-kva.example",
          "http://127.0.0.1:8080",
          "http://192.168.1.10",
          "http://[::1]:3000",
          "http://[2001:db8::1]",
          "https://[2001:db8:0:1:1:1:1:1]",
          "http://[::ffff:102:304]",
          "capacitor://localhost",
          "chrome-extension://abcdefghijklmnopabcdefghijklmnop",
          "moz-extension://0b5ff3a4-27b4-4b4c-a3e6-5a1b2c3d4e5f"}) {
        CAPTURE(text);
        CHECK(problem_of(text).empty());
    }
}

TEST_CASE("origins that would never match are refused with a reason",
          "[origin]")
{
    const struct {
        std::string_view text;
        std::string_view reason;
    } rows[] = {
        {"null", "sandboxed"},
        {"HTTPS://app.example.com", "lower case"},
        {"https://App.example.com", "lower case"},
        {"NULL", "lower case"},
        {"https://app.example.com/", "trailing slash"},
        {"https://app.example.com/app", "no path"},
        {"https://app.example.com?x", "no path"},
        {"https://app.example.com#x", "no path"},
        {"https://app.example.com:443", "default port"},
        {"http://app.example.com:80", "default port"},
        {"http://[::1]:80", "default port"},
        {"https://a.example:443", "default port"},
        {"http://a.example:80", "default port"},
        {"https://app.example.com:", "1 to 65535"},
        {"https://app.example.com:0", "1 to 65535"},
        {"https://app.example.com:0443", "1 to 65535"},
        {"https://app.example.com:65536", "1 to 65535"},
        {"https://app.example.com:+1", "1 to 65535"},
        {"https://app.example.com:$port", "1 to 65535"},
        {"https://a:1:2", "1 to 65535"},
        {"https://*.example.com", "patterns"},
        {"https://b\xc3\xbc"
         "cher.example",
         "xn--"},
        {"http://127.0.0.01", "IP address"},
        {"http://127.1", "IP address"},
        {"http://0x7f.0.0.1", "IP address"},
        {"http://0x7f000001", "IP address"},
        {"http://2130706433", "IP address"},
        {"http://127.0.0.1.", "IP address"},
        {"http://127.0.0.256", "IP address"},
        {"http://[0:0:0:0:0:0:0:1]", "IP address"},
        {"http://[::1%eth0]", "IP address"},
        {"http://[2001:db8::0001]", "IP address"},
        {{"http://[::1:2\0]", 15}, "IP address"},
        {"http://[::ffff:1.2.3.4]", "IP address"},
        {"http://[]", "scheme://host"},
        {"http://[::1", "scheme://host"},
        {"http://::1", "scheme://host"},
        {"", "scheme://host"},
        {"*", "scheme://host"},
        {"app.example.com", "scheme://host"},
        {"//app.example.com", "scheme://host"},
        {"://app.example.com", "scheme://host"},
        {"https:app.example.com", "scheme://host"},
        {"https://", "scheme://host"},
        {"https://:8443", "scheme://host"},
        {"https://.example.com", "scheme://host"},
        {"https://a..example.com", "scheme://host"},
        {"https://user@example.com", "scheme://host"},
        {"https://$host", "scheme://host"},
        {"https://a b", "scheme://host"},
        {"https://a,https://b", "no path"},
        {"1https://a", "scheme://host"},
        {"ht tp://a", "scheme://host"},
        {"file://", "scheme://host"},
    };
    for (const auto& [text, reason] : rows) {
        CAPTURE(text, reason);
        const auto problem = problem_of(text);
        CAPTURE(problem);
        CHECK(has(problem, reason));
    }
}
