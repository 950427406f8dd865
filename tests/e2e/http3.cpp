// HTTP/3 works as in any other nginx location. Needs an nginx and a libcurl
// with HTTP/3, as in Debian 13.
#include <iostream>

#include "support/guarded_store.h"

using namespace petstore::e2e;

namespace {

bool has_http3()
{
    static const bool nginx =
        contains(run({nginx_binary(), "-V"}).err, "--with-http_v3_module");
    const bool curl =
        (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_HTTP3)
        != 0;
    if (!nginx || !curl) {
        // ctest reports a test with this output as skipped.
        std::cout << "Skipped: " << (nginx ? "libcurl" : "nginx")
                  << " has no HTTP/3\n";
    }
    return nginx && curl;
}

NginxOptions with_http3(NginxOptions options = {})
{
    options.tls = true;
    options.server += " listen %ADDRESS%:%TLS_PORT% quic reuseport;";
    return options;
}

Http client_of(const NginxServer& nginx, const std::string& key = "")
{
    Http http(nginx.tls_url(), key);
    http.use_http3();
    return http;
}

// Repeats a POST until there is a response. libcurl fails if it is still
// sending the body when nginx has refused the request and stops reading, in any
// location.
Response post(Http& http, const std::string& path, const std::string& body,
              bool chunked = false)
{
    Response response;
    http.tolerate_failures();
    REQUIRE(wait_until([&] {
        response = http.send({"POST",
                              path,
                              {{"Content-Type", "application/json"}},
                              body,
                              chunked});
        return response.status != 0;
    }));
    return response;
}

}  // namespace

TEST_CASE("http3: the three operations")
{
    if (!has_http3()) {
        return;
    }
    Store store(with_http3());
    auto http = client_of(store.nginx, store.key.secret);
    const auto created = http.post(
        "/v1/pets", R"({"name":"Rex","categoryId":7,"status":"sold"})");
    CHECK(created.version == "3");
    expect_json(created, 201, pet_json(1, "Rex", "7", "sold"));
    CHECK(created.header("location") == "/v1/pets/1");
    expect_json(http.get("/v1/pets/1"), 200, created.body);
    expect_json(http.get("/v1/pets?status=sold"), 200,
                "[" + created.body + "]");
    CHECK(http.head("/v1/pets/1").header("content-length")
          == std::to_string(created.body.size()));
    CHECK(http.request("OPTIONS", "/v1/pets").status == 204);
    expect_error(http.get("/v1/nowhere"), 404, "not_found");
    expect_error(http.request("DELETE", "/v1/pets"), 405, "method_not_allowed");
    expect_error(http.post("/v1/pets", "{"), 400, "invalid_json");
}

TEST_CASE("http3: bodies of every size, and without a length")
{
    if (!has_http3()) {
        return;
    }
    NginxOptions options;
    options.location = "client_body_buffer_size 1k;";
    Store store(with_http3(options));
    auto http = client_of(store.nginx, store.key.secret);
    const std::string head = R"({"name":"n","categoryId":1,"x":")";
    for (const std::size_t size :
         {100, 1024, 1025, 9000, 16384, 16385, 70000}) {
        INFO(size);
        const auto body =
            head + std::string(size - head.size() - 2, 'x') + "\"}";
        const int expected = size <= 16384 ? 201 : 413;
        for (const bool chunked : {false, true}) {
            const auto response = post(http, "/v1/pets", body, chunked);
            CHECK(response.status == expected);
            if (expected == 413) {
                expect_error(response, 413, "payload_too_large");
            }
        }
    }
    CHECK(walk(http, "/v1/pets").size() == 10);
}

TEST_CASE("http3: refusals, and the streams after them")
{
    if (!has_http3()) {
        return;
    }
    NginxOptions options;
    options.http = "petstore_plan small minute=3 day=100;";
    Store store(with_http3(options));
    const auto key = create_key(store.redis, {"--plan", "small"});
    auto http = client_of(store.nginx);
    for (int i = 0; i < 5; ++i) {
        expect_error(post(http, "/v1/pets", std::string(5000, 'x')), 401,
                     "missing_api_key");
    }
    http.use_key("wrong");
    expect_error(http.get("/v1/pets"), 401, "invalid_api_key");
    http.use_key(key.secret);
    for (int i = 0; i < 3; ++i) {
        CHECK(http.get("/v1/pets").status == 200);
    }
    const auto denied = post(http, "/v1/pets", std::string(5000, 'x'));
    expect_error(denied, 429, "rate_limit_exceeded");
    CHECK(denied.has("retry-after"));
    expect_error(http.get("/v1/pets"), 429, "rate_limit_exceeded");
}

TEST_CASE("http3: the guard")
{
    if (!has_http3()) {
        return;
    }
    GuardedStore shop(with_http3());
    auto http = client_of(shop.store.nginx);
    expect_error(http.get("/shop/"), 401, "missing_api_key");
    expect_error(post(http, "/shop/", "refused"), 401, "missing_api_key");
    CHECK(shop.back_end.count() == 0);

    http.use_key(shop.store.key.secret);
    const auto got = http.get("/shop/cart", {{"X-Account", "root"}});
    CHECK(got.version == "3");
    const auto reached = shop.back_end.last();
    CHECK(reached.header("x-account") == shop.store.key.account);
    CHECK_FALSE(reached.has("authorization"));
    CHECK(got.status == 200);
    CHECK(got.body == "back end");
    rate_headers_of(got);
    const auto body = repeat("order ", 5000);
    CHECK(post(http, "/shop/orders", body).status == 200);
    CHECK(shop.back_end.last().method == "POST");
    CHECK(shop.back_end.last().body == body);
    CHECK(shop.charged() == 2);

    const auto reader = create_key(shop.store.redis, {"--scopes", "read"});
    http.use_key(reader.secret);
    expect_error(post(http, "/shop/orders", body), 403, "insufficient_scope");
    CHECK(shop.back_end.count() == 2);
}

TEST_CASE("http3: a back end and the page of a refusal see no key")
{
    if (!has_http3()) {
        return;
    }
    NginxOptions options;
    options.http = "underscores_in_headers on; petstore_key_header X-API-Key;";
    options.server = "location @page { proxy_pass http://%BACK_END%; }";
    GuardedStore shop(with_http3(options), "error_page 400 401 403 = @page;");
    const auto& key = shop.store.key;
    const auto reader = create_key(shop.store.redis, {"--scopes", "reports"});
    const std::string token = "Bearer eyJhbGciOiJub25lIn0.e30.";
    auto http = client_of(shop.store.nginx);
    // The request that reaches the back end.
    const auto reached = [&](const Headers& sent) {
        Headers headers = {
            {"X-Account", "invented"},     {"x-account", "invented"},
            {"X_Account", "invented"},     {"X-PLAN", "invented"},
            {"x_plan", "invented"},        {"X-Key-Id", "invented"},
            {"X-External_Id", "invented"}, {"X-Other", "kept"}};
        headers.insert(headers.end(), sent.begin(), sent.end());
        const auto before = shop.back_end.count();
        const auto response = http.get("/shop/", headers);
        CHECK(response.version == "3");
        CHECK(response.body == "back end");
        REQUIRE(shop.back_end.count() == before + 1);
        const auto request = shop.back_end.last();
        for (const auto& [name, value] : request.headers) {
            INFO(name << ": " << value);
            CHECK(value != "invented");
            CHECK_FALSE(contains(value, key.secret));
            CHECK_FALSE(contains(value, reader.secret));
        }
        CHECK(request.header("x-other") == "kept");
        CHECK_FALSE(request.has("x-api-key"));
        return request;
    };

    const Headers bearer = {{"Authorization", "Bearer " + key.secret}};
    const Headers header = {{"X-API-Key", key.secret},
                            {"Authorization", token}};
    const Headers spelled = {{"X_API_Key", key.secret},
                             {"x-api-key", key.secret}};
    for (const auto& sent : {bearer, header, spelled}) {
        const auto request = reached(sent);
        CHECK(request.header("x-account") == key.account);
        CHECK(request.header("x-key-id") == key.id);
        CHECK(request.has("authorization") == (sent == header));
        CHECK((sent != header || request.header("authorization") == token));
    }
    CHECK(shop.charged() == 3);

    for (const auto& sent :
         {Headers{}, kUnknownKey, Headers{{"X-API-Key", reader.secret}},
          Headers{{"Authorization", "Bearer " + reader.secret}},
          Headers{{"X-API-Key", key.secret}, {"X-Api-Key", "repeated"}}}) {
        const auto request = reached(sent);
        CHECK_FALSE(request.has("x-account"));
        CHECK_FALSE(request.has("x-key-id"));
        CHECK_FALSE(request.has("authorization"));
    }
    CHECK(reached({{"X-API-Key", "unknown"}, {"Authorization", token}})
              .header("authorization")
          == token);
    CHECK(shop.charged() == 3);
}
