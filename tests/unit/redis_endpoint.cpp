#include "catch.h"

#include <string>
#include <variant>

#include "redis/endpoint.h"

using petstore::redis::Endpoint;
using petstore::redis::parse_endpoint;
using petstore::redis::redact_url;

namespace {

Endpoint good(std::string_view url)
{
    CAPTURE(url);
    auto parsed = parse_endpoint(url);
    REQUIRE(std::holds_alternative<Endpoint>(parsed));
    return std::get<Endpoint>(parsed);
}

}  // namespace

TEST_CASE("a URL has a host and a port", "[redis]")
{
    const Endpoint plain = good("redis://localhost");
    CHECK(plain.host == "localhost");
    CHECK(plain.port == 6379);
    CHECK(plain.database == 0);
    CHECK_FALSE(plain.tls);
    CHECK_FALSE(plain.is_unix());
    CHECK(plain.user.empty());
    CHECK(plain.password.empty());

    const Endpoint full = good("rediss://bob:s3cret@redis.example:7000/12");
    CHECK(full.host == "redis.example");
    CHECK(full.port == 7000);
    CHECK(full.database == 12);
    CHECK(full.tls);
    CHECK(full.user == "bob");
    CHECK(full.password == "s3cret");

    CHECK(good("REDIS://h/").database == 0);
    CHECK(good("redis://h:65535").port == 65535);
}

TEST_CASE("a URL has a user and a password", "[redis]")
{
    CHECK(good("redis://:pw@h").user.empty());
    CHECK(good("redis://:pw@h").password == "pw");
    CHECK(good("redis://bob@h").user == "bob");
    CHECK(good("redis://bob@h").password.empty());
    CHECK(good("redis://b%40b:p%3a%2F%25@h").user == "b@b");
    CHECK(good("redis://b%40b:p%3a%2F%25@h").password == "p:/%");
    CHECK(good("redis://:a+b:c@h").password == "a+b:c");
    CHECK(good("redis://:p@ss@h").password == "p@ss");
    CHECK(good("redis://@h").user.empty());
}

TEST_CASE("what is wrong with a URL of several colons is named", "[redis]")
{
    const auto problem = [](const char* url) {
        return std::get<std::string>(parse_endpoint(url));
    };
    for (const char* url : {"redis://host:6379:0", "redis://10.0.0.1:6379:15",
                            "rediss://u:p@host:6379:0", "redis://abc:6379:0"}) {
        CAPTURE(url);
        CHECK(
            problem(url)
            == "the database must follow a slash, as in \"redis://host:6379/0\"");
    }
    for (const char* url :
         {"redis://::1", "redis://fe80::1", "redis://2001:db8::1:6379",
          "redis://1:2:3:4:5:6:7:8", "redis://::ffff:10.0.0.1"}) {
        CAPTURE(url);
        CHECK(problem(url) == "an IPv6 address must be in brackets");
    }
    CHECK(problem("redis://host:6379:x")
          == "the port must be a number from 1 to 65535");
}

TEST_CASE("what is wrong with a URL is named", "[redis]")
{
    const char* const scheme =
        "a Redis URL starts with \"redis://\", \"rediss://\" or \"unix:/\"";
    const char* const host = "the host is missing";
    const char* const port = "the port must be a number from 1 to 65535";
    const char* const database =
        "the database must be a number from 0 to 2147483647";
    const char* const path = "the path of a unix socket must start with \"/\"";
    const struct {
        const char* url;
        const char* problem;
    } rows[] = {
        {"http://127.0.0.1", scheme},
        {"127.0.0.1:6379", scheme},
        {"redis://", host},
        {"redis://:geheim-7", host},
        {"redis://127.0.0.1:99999", port},
        {"redis://user:geheim-7@127.0.0.1:99999", port},
        {"redis://h/x", database},
        {"redis://127.0.0.1/x", database},
        {"unix:redis.sock", path},
        {"unix:", path},
        {"unix://:geheim-7@/r.sock",
         "the URL of a unix socket has no user and no password"},
        {"unix://user:geheim/7@/r.sock",
         "the URL of a unix socket has no user and no password"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.url);
        CHECK(std::get<std::string>(parse_endpoint(row.url)) == row.problem);
    }
    CHECK(redact_url("redis://h/x") == "redis://h/***");
    CHECK(redact_url("redis://:geheim-7") == "redis://:***");
}

TEST_CASE("IPv6 addresses are in brackets", "[redis]")
{
    CHECK(good("redis://[::1]").host == "::1");
    CHECK(good("redis://[fe80::1%eth0]:7000/2").port == 7000);
    CHECK(good("redis://:pw@[2001:db8::1]:7000").host == "2001:db8::1");
}

TEST_CASE("a URL may name a unix socket", "[redis]")
{
    const Endpoint socket = good("unix:/run/redis/redis.sock");
    CHECK(socket.is_unix());
    CHECK(socket.path == "/run/redis/redis.sock");
    CHECK(socket.host.empty());
    CHECK(socket.database == 0);
    CHECK(good("unix:/r.sock?db=3").database == 3);
    CHECK(good("unix:///r@a/r.sock").path == "///r@a/r.sock");
    CHECK(good("unix:/r.sock?db=3").path == "/r.sock");
    CHECK(good("unix:/" + std::string(106, 'x')).path.size() == 107);
}

TEST_CASE("other credentials complete those of a URL", "[redis]")
{
    struct Case {
        const char* url;
        const char* user;
        const char* password;
    };
    for (const auto& [url, user, password] : {
             Case{"redis://h", "app", "word"},
             Case{"redis://bob@h", "bob", "word"},
             Case{"redis://:pw@h", "", "pw"},
             Case{"redis://bob:pw@h", "bob", "pw"},
         }) {
        CAPTURE(url);
        auto endpoint = good(url);
        endpoint.complete("app", "word");
        CHECK(endpoint.user == user);
        CHECK(endpoint.password == password);
    }
}

TEST_CASE("a displayed URL has no user or password", "[redis]")
{
    CHECK(good("redis://bob:s3cret@h:7000/1").display() == "redis://h:7000/1");
    CHECK(good("rediss://:s3cret@h").display() == "rediss://h:6379/0");
    CHECK(good("redis://:s3cret@[::1]").display() == "redis://[::1]:6379/0");
    CHECK(good("unix:/r.sock").display() == "unix:/r.sock");
    CHECK(good("unix:/r.sock?db=2").display() == "unix:/r.sock?db=2");
}

TEST_CASE("endpoints are equal if all their fields are", "[redis]")
{
    const Endpoint one = good("redis://u:p@h:1/2");
    CHECK(one == good("redis://u:p@h:1/2"));
    for (const auto* other :
         {"redis://u:p@g:1/2", "redis://u:p@h:2/2", "redis://u:p@h:1/3",
          "redis://v:p@h:1/2", "redis://u:q@h:1/2", "rediss://u:p@h:1/2",
          "unix:/h?db=2"}) {
        CHECK_FALSE(one == good(other));
    }
}

TEST_CASE("the error for an invalid URL omits its password", "[redis]")
{
    const auto url = GENERATE(
        as<std::string>{}, "", "redis", "redis:", "redis:/", "redis:h",
        "redis://", "http://h", "h:6379", "//h", "redis://:s3cret@",
        "redis://:s3cret@:6379", "redis://h:", "redis://h:0", "redis://h:65536",
        "redis://h:+1", "redis://h:s3cret", "redis://h/s3cret", "redis://h/-1",
        "redis://h/1/2", "redis://h/01", "redis://h/99999999999",
        "redis://h?db=1", "redis://h#1", "redis://:s3cret/x@h",
        "redis://:%zzs3cret@h", "redis://:s3cret%4@h", "redis://a b",
        "redis://::1", "redis://[::1", "redis://[]", "redis://[h]",
        "redis://[::1]7000", "redis://[::1]:", "redis://h\n", "redis://h,g",
        "unix:", "unix:r.sock", "unix:?db=1", "unix:/r?s3cret",
        "unix:/r?db=", "unix:/r?db=x", "unix:/r?db=-1", "unix:/r?db=1&x",
        "unix:/a\nb", "unix:/" + std::string(107, 'x'));
    CAPTURE(url);
    const auto parsed = parse_endpoint(url);
    REQUIRE(std::holds_alternative<std::string>(parsed));
    CHECK_FALSE(std::get<std::string>(parsed).empty());
    CHECK(std::get<std::string>(parsed).find("s3cret") == std::string::npos);
}

TEST_CASE("a redacted URL omits anything that may be a password", "[redis]")
{
    const struct {
        const char* url;
        const char* quoted;
    } rows[] = {
        {"redis://h:6379/1", "redis://h:6379/1"},
        {"redis://user:s3cret@h:99999", "redis://***@h:99999"},
        {"rediss://:s3cret@[::1]:1/2", "rediss://***@[::1]:1/2"},
        {"redis://:s3/cr@et@h/0", "redis://***@h/0"},
        {"redis://user:s3cret", "redis://user:***"},
        {"redis://:s3cret", "redis://:***"},
        {"redis://h/s3cret", "redis://h/***"},
        {"redis://h:1/2?password=s3cret", "redis://h:1/2***"},
        {"redis://h s3cret", "redis://h***"},
        {"user:s3cret@h", "***@h"},
        {"h:6379", "h:6379"},
        {"http://h/x", "http://h/***"},
        {"", ""},
        {"unix:/run/redis.sock?db=3", "unix:/run/redis.sock?db=3"},
        {"unix:/r?db=3&password=s3cret", "unix:/r?db=3***"},
        {"unix:/r?s3cret", "unix:/r***"},
        {"unix:r.sock", "unix:r.sock"},
        {"unix://user:s3cret@/r", "unix://***@/***"},
    };
    for (const auto& row : rows) {
        CAPTURE(row.url);
        CHECK(redact_url(row.url) == row.quoted);
    }
}

TEST_CASE("a NUL byte in a URL is refused", "[redis]")
{
    using std::string_view_literals::operator""sv;
    CHECK(std::holds_alternative<std::string>(
        parse_endpoint("unix:/r\0.sock"sv)));
    CHECK(
        std::holds_alternative<std::string>(parse_endpoint("redis://h\0g"sv)));
}
