// docs/http.md, "Order of checks" and "Authentication".
#include "support/store.h"

using namespace petstore::e2e;

namespace {

const char* const kNoToken = "Bearer realm=\"petstore\"";
const char* const kBadToken =
    "Bearer realm=\"petstore\", error=\"invalid_token\"";

void expect_missing(const Response& response)
{
    expect_error(response, 401, "missing_api_key");
    CHECK(response.header("www-authenticate") == kNoToken);
}

std::string expect_invalid(const Response& response)
{
    CHECK(response.header("www-authenticate") == kBadToken);
    return expect_error(response, 401, "invalid_api_key");
}

}  // namespace

TEST_CASE("authentication: a request without a key gets 401 and a challenge")
{
    Store store;
    Http anyone(store.nginx.url());

    expect_missing(anyone.get("/v1/pets"));
    for (const char* value : {"Basic YTpi", "Bearer "}) {
        INFO(value);
        RawClient raw(store.nginx.port());
        raw.send("GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: "
                 + std::string(value) + "\r\n\r\n");
        expect_missing(raw.read());
    }
    RawClient empty(store.nginx.port());
    empty.send("GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization:\r\n\r\n");
    expect_missing(empty.read());
}

TEST_CASE(
    "authentication: the scheme may be in any case and followed by spaces")
{
    Store store;
    Http http(store.nginx.url());
    for (const char* scheme : {"Bearer ", "bearer ", "BEARER ", "bEaReR    "}) {
        INFO(scheme);
        expect_json(http.get("/v1/pets",
                             {{"Authorization", scheme + store.key.secret}}),
                    200, "[]");
    }
}

TEST_CASE("authentication: white space around the value is no part of it")
{
    Store store;
    for (const char* before : {"", " ", "\t", " \t \t"}) {
        for (const char* after : {"", " ", "\t", " \t"}) {
            INFO('"' << before << "\" and \"" << after << '"');
            RawClient raw(store.nginx.port());
            raw.send("GET /v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization:"
                     + std::string(before) + "Bearer " + store.key.secret
                     + after + "\r\n\r\n");
            CHECK(raw.read().status == 200);
        }
    }
}

TEST_CASE("authentication: all invalid keys get the same response")
{
    Store store;
    const auto disabled = create_key(store.redis);
    REQUIRE(ctl(store.redis.url(), {"key", "disable", disabled.id}).code == 0);
    const auto deleted = create_key(store.redis);
    REQUIRE(ctl(store.redis.url(), {"key", "delete", deleted.id}).code == 0);
    RedisServer elsewhere;
    const auto unknown = create_key(elsewhere);

    Http http(store.nginx.url());
    std::vector<std::string> bodies;
    for (const std::string& secret :
         {unknown.secret, disabled.secret, deleted.secret,
          store.key.secret + "x", std::string(513, 'k'),
          std::string("caf\xC3\xA9")}) {
        INFO(secret);
        const auto response =
            http.get("/v1/pets", {{"Authorization", "Bearer " + secret}});
        expect_invalid(response);
        bodies.push_back(response.body);
    }
    for (const auto& body : bodies) {
        CHECK(body == bodies.front());
    }
}

TEST_CASE("authentication: a key in the query is ignored")
{
    NginxOptions options;
    options.location = "access_log off;";  // keeps the key out of the log
    Store store(options);
    Http anyone(store.nginx.url());
    for (const char* name : {"key", "api_key", "access_token", "apikey"}) {
        expect_missing(anyone.get("/v1/pets?" + std::string(name) + "="
                                  + store.key.secret));
    }
}

TEST_CASE(
    "authentication: comes before route method size media type and content")
{
    Store store;
    Http anyone(store.nginx.url());
    const std::string big(20000, 'x');

    expect_missing(anyone.get("/v1/nowhere"));
    expect_missing(anyone.get("/v1/store/orders"));
    expect_missing(anyone.get("/v1/"));
    expect_missing(anyone.get("/v1/pets/abc"));
    expect_missing(anyone.get("/v1/pets?limit=0"));
    expect_missing(anyone.request("DELETE", "/v1/pets"));
    expect_missing(anyone.request("PATCH", "/v1/nowhere"));
    expect_missing(anyone.post("/v1/pets", big));
    expect_missing(
        anyone.post("/v1/pets", "{}", {{"Content-Type", "text/plain"}}));
    expect_missing(anyone.post("/v1/pets", "no json"));

    // With a key, the same requests get the errors of the next checks, in this
    // order: route and method, size and media type, content.
    auto& http = store.http;
    expect_error(http.get("/v1/nowhere"), 404, "not_found");
    expect_error(http.post("/v1/nowhere", big), 404, "not_found");
    expect_error(http.send({"PUT", "/v1/pets", {}, big}), 405,
                 "method_not_allowed");
    expect_error(http.post("/v1/pets", big, {{"Content-Type", "text/plain"}}),
                 413, "payload_too_large");
    expect_error(
        http.post("/v1/pets", "no json", {{"Content-Type", "text/plain"}}), 415,
        "unsupported_media_type");
    expect_error(http.post("/v1/pets", "no json"), 400, "invalid_json");
    CHECK(http.get("/v1/pets").body == "[]");
}

TEST_CASE("authentication: HEAD without a key has the headers and no body")
{
    Store store;
    Http anyone(store.nginx.url());
    const auto response = anyone.head("/v1/pets");
    CHECK(response.status == 401);
    CHECK(response.body.empty());
    CHECK(response.header("www-authenticate") == kNoToken);
    CHECK(response.header("content-type") == "application/json");
}
