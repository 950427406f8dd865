// SPEC 3: a request is charged once, whatever internal redirects and
// subrequests nginx makes.
#include "support/limits.h"

using namespace petstore::e2e;

namespace {

const char* const kPet = "{\"name\":\"Rex\",\"categoryId\":7}";

}  // namespace

TEST_CASE("limits once: over internal redirects and subrequests")
{
    NginxOptions options;
    options.server = R"(
        location = /rewritten { rewrite ^ /v1/pets last; }
        location = /rewritten-twice { rewrite ^ /rewritten last; }
        location = /tried { root %DIR%; try_files /none /v1/pets; }
        location = /tried-by-name { root %DIR%; try_files /none @api; }
        location @api { rewrite ^ /v1/pets break; petstore; }
        location = /failed { error_page 404 = /v1/pets; return 404; }
        location = /failed-by-name { error_page 404 = @api; return 404; }
        location = /missing { root %DIR%; error_page 404 = /v1/pets; }
        location /checked/v1/ { auth_request /v1/pets; petstore /checked/v1; }
        location /mirrored/v1/ { mirror /v1/pets; petstore /mirrored/v1; }
        location = /page.html { ssi on; root %DIR%; }
        location /broken/v1/ {
            petstore /broken/v1;
            recursive_error_pages on;
            error_page 400 = /v1/pets;
        })";
    Store store(options);
    import_pets(store.redis, 1);
    const auto key = limited_key(store.redis, 100);
    Http http(store.nginx.url(), key.secret);
    long long charged = 0;
    const auto once = [&](const Response& response, int status) {
        INFO(response.body);
        CHECK(response.status == status);
        CHECK(used(store.redis, key, "minute") == ++charged);
        CHECK(used(store.redis, key, "day") == charged);
        return response;
    };
    const auto api = [&](const std::string& path, int status = 200) {
        INFO(path);
        const auto response = once(http.get(path), status);
        CHECK(rate_headers_of(response).remaining == 100 - charged);
        return response;
    };
    for (const char* path :
         {"/rewritten", "/rewritten-twice", "/tried", "/tried-by-name",
          "/failed", "/failed-by-name", "/missing"}) {
        CHECK(contains(api(path).body, "pet 1"));
    }
    // The subrequest asks, the request itself does not ask again.
    CHECK(contains(api("/checked/v1/pets").body, "pet 1"));
    CHECK(contains(api("/checked/v1/pets/1").body, "pet 1"));
    api("/checked/v1/pets/7", 404);
    once(http.post("/checked/v1/pets", kPet), 201);
    CHECK(contains(api("/mirrored/v1/pets").body, "pet 1"));

    // A page of three parts of the API is one request.
    write_file(store.nginx.path("page.html"),
               "<!--#include virtual=\"/v1/pets/1\" -->|"
               "<!--#include virtual=\"/v1/pets\" -->|"
               "<!--#include virtual=\"/v1/pets/7\" -->");
    const auto page = once(http.get("/page.html"), 200);
    CHECK(split(page.body, '|').size() == 3);
    CHECK(contains(split(page.body, '|').front(), "pet 1"));

    // An error of nginx's own after the charge, and error_page sends it to the
    // API again.
    RawClient raw(store.nginx.port());
    raw.send(
        "POST /broken/v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
        + key.secret + "\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\n");
    const auto response = once(raw.read(), 200);
    CHECK(rate_headers_of(response).remaining == 100 - charged);
}

TEST_CASE("limits once: a refusal is one strike in however many parts")
{
    NginxOptions options;
    options.server = R"(location = /page.html { ssi on; root %DIR%; })";
    Store store(options);
    const auto key = limited_key(store.redis, 2);
    Http http(store.nginx.url(), key.secret);
    write_file(store.nginx.path("page.html"),
               repeat("<!--#include virtual=\"/v1/pets\" -->|", 7));
    for (int i = 0; i < 2 + 3; ++i) {
        const auto page = http.get("/page.html");
        CHECK(count_of(page.body, i < 2 ? "[]|" : "rate_limit_exceeded") == 7);
    }
    CHECK(wait_until([&] { return used(store.redis, key, "strikes") > 0; }));
    CHECK(used(store.redis, key, "strikes") == 3);
}

TEST_CASE("limits once: whatever becomes of the request")
{
    Store store;
    const auto key = limited_key(store.redis, 1000);
    Http http(store.nginx.url(), key.secret);
    // Pipelined, and gone before the answers: each is charged once.
    {
        RawClient client(store.nginx.port());
        std::string requests;
        for (int i = 0; i < 20; ++i) {
            requests += list_request(key.secret);
        }
        client.send(requests);
        for (int i = 0; i < 20; ++i) {
            CHECK(client.read().header("x-ratelimit-remaining")
                  == std::to_string(999 - i));
        }
    }
    CHECK(used(store.redis, key, "minute") == 20);
    // HTTP/1.0, HEAD and a repeated create count like any other.
    RawClient old(store.nginx.port());
    old.send("GET /v1/pets HTTP/1.0\r\nAuthorization: Bearer " + key.secret
             + "\r\n\r\n");
    CHECK(old.read().status == 200);
    CHECK(http.head("/v1/pets").status == 200);
    for (int i = 0; i < 2; ++i) {
        CHECK(http.post("/v1/pets", kPet, {{"Idempotency-Key", "k"}}).status
              == 201);
    }
    CHECK(used(store.redis, key, "minute") == 24);
    CHECK(http.request("OPTIONS", "/v1/pets").status == 204);
    CHECK(used(store.redis, key, "minute") == 24);
}

TEST_CASE("limits once: a request without a key counts once for its address")
{
    NginxOptions options;
    options.server = R"(
        petstore_anonymous_limit 50;
        location /mirrored/v1/ { mirror /v1/pets; petstore /mirrored/v1; }
        location /again/v1/ {
            auth_request /v1/pets;
            error_page 401 = /v1/pets;
            petstore /again/v1;
        })";
    Store store(options);
    Http http(store.nginx.url());
    CHECK(rate_headers_of(http.get("/mirrored/v1/pets")).remaining == 49);
    CHECK(rate_headers_of(http.get("/again/v1/pets")).remaining == 48);
    CHECK(rate_headers_of(http.get("/v1/pets")).remaining == 47);
}
