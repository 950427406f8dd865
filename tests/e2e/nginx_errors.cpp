// SPEC 1: errors that nginx itself makes have the Error shape.
#include "support/store.h"

using namespace petstore::e2e;

namespace {

const char* const kPet = "{\"name\":\"Rex\",\"categoryId\":7}";

Response raw(const Store& store, const std::string& bytes)
{
    RawClient client(store.nginx.port());
    client.send(bytes);
    return client.read();
}

}  // namespace

TEST_CASE("nginx errors: inside the location they are Errors by themselves")
{
    NginxOptions options;
    options.location = R"(
        limit_except GET POST { deny all; }
        client_max_body_size 1000;
        if ($arg_fail = "500") { return 500; }
        if ($arg_fail = "502") { return 502; }
        if ($arg_fail = "504") { return 504; }
        if ($arg_fail = "404") { return 404; }
        if ($arg_fail = "418") { return 418; }
        if ($arg_fail = "503") { return 503; }
    )";
    Store store(options);
    auto& http = store.http;

    // client_max_body_size, before any handler
    expect_error(http.post("/v1/pets", std::string(1001, 'x')), 413,
                 "payload_too_large");
    CHECK(http.post("/v1/pets", kPet).status == 201);
    // the access module
    CHECK(http.request("DELETE", "/v1/pets").status == 403);
    expect_error(http.request("DELETE", "/v1/pets"), 403, "forbidden");
    // the rewrite module
    expect_error(http.get("/v1/pets?fail=500"), 500, "internal_error");
    expect_error(http.get("/v1/pets?fail=502"), 502, "service_unavailable");
    expect_error(http.get("/v1/pets?fail=504"), 504, "service_unavailable");
    expect_error(http.get("/v1/pets?fail=404"), 404, "not_found");
    const auto unavailable = http.get("/v1/pets?fail=503");
    expect_error(unavailable, 503, "service_unavailable");
    CHECK(unavailable.has("retry-after"));
    const auto teapot = http.get("/v1/pets?fail=418");
    CHECK(teapot.status == 418);
    // HEAD gets no body either way.
    const auto head = http.head("/v1/pets?fail=500");
    CHECK(head.status == 500);
    CHECK(head.body.empty());
    CHECK(head.header("content-type") == "application/json");
}

TEST_CASE("nginx errors: client_max_body_size holds in if and limit_except too")
{
    for (const char* block : {"if ($request_method = POST) { set $post 1; }",
                              "limit_except GET { allow all; }"}) {
        INFO(block);
        NginxOptions options;
        options.location = std::string("client_max_body_size 100; ") + block;
        Store store(options);
        const std::string body = kPet + std::string(100, ' ');
        expect_error(store.http.post("/v1/pets", body), 413,
                     "payload_too_large");
        CHECK(store.http.post("/v1/pets", kPet).status == 201);
    }
}

TEST_CASE("nginx errors: the connection stays in step after one")
{
    NginxOptions options;
    options.location = "if ($arg_fail) { return 502; }";
    Store store(options);
    import_pets(store.redis, 1);
    RawClient client(store.nginx.port());
    client.send(store.head("GET /v1/pets?fail=1 HTTP/1.1")
                + store.head("HEAD /v1/pets?fail=1 HTTP/1.1")
                + store.head("GET /v1/pets/1 HTTP/1.1"));
    expect_error(client.read(), 502, "service_unavailable");
    CHECK(client.read(true).status == 502);
    expect_json(client.read(), 200, pet_json(1, "pet 1", "10", "available"));
}

TEST_CASE("nginx errors: with petstore_json_errors those before a location too")
{
    NginxOptions options;
    options.http =
        "large_client_header_buffers 2 1k; client_header_buffer_size 1k;";
    options.server = R"(
        petstore_json_errors on;
        location /plain { return 200 "plain"; }
        location /missing { root %DIR%/nothing; }
        location /own { return 404 "my own words"; })";
    Store store(options);

    expect_error(raw(store, "NONSENSE\r\n\r\n"), 400, "bad_request");
    expect_error(raw(store, "GET /v1/pets HTTP/1.1\r\n\r\n"), 400,
                 "bad_request");
    expect_error(raw(store, "GET /v1/pets HTTP/1.1\r\nHost: a b\r\n\r\n"), 400,
                 "bad_request");
    expect_error(raw(store, "GET /v1/pets/1%00 HTTP/1.1\r\nHost: a\r\n\r\n"),
                 400, "bad_request");
    expect_error(raw(store, "GET /v1/../../x HTTP/1.1\r\nHost: a\r\n\r\n"), 400,
                 "bad_request");
    expect_error(raw(store, "GET /v1/pets HTTP/1.1\r\nHost: a\r\n"
                            "Content-Length: x\r\n\r\n"),
                 400, "bad_request");
    expect_error(raw(store, "GET /v1/pets?" + std::string(3000, 'a')
                                + " HTTP/1.1\r\nHost: a\r\n\r\n"),
                 414, "uri_too_long");
    expect_error(raw(store, "GET /v1/pets HTTP/1.1\r\nHost: a\r\nX: "
                                + std::string(3000, 'a') + "\r\n\r\n"),
                 400, "bad_request");
    expect_error(raw(store, "POST /v1/pets HTTP/1.1\r\nHost: a\r\n"
                            "Transfer-Encoding: gzip\r\n\r\n"),
                 501, "not_implemented");
    expect_error(store.http.get("/nowhere"), 404, "not_found");
    expect_error(store.http.get("/missing/file"), 404, "not_found");

    CHECK(store.http.get("/plain").body == "plain");
    // An answer somebody wrote is not replaced.
    const auto own = store.http.get("/own");
    CHECK(own.status == 404);
    CHECK(own.body == "my own words");
}

TEST_CASE("nginx errors: without it they stay as nginx makes them")
{
    Store store;
    const auto response = raw(store, "NONSENSE\r\n\r\n");
    CHECK(response.status == 400);
    CHECK(contains(response.body, "<html>"));
    CHECK(contains(store.http.get("/nowhere").body, "<html>"));
}

TEST_CASE("nginx errors: an answer from upstream is not replaced")
{
    NginxOptions options;
    options.server = R"(
        petstore_json_errors on;
        location /proxied/ { proxy_pass http://%ADDRESS%:%TLS_PORT%/; }
        location /dead/ { proxy_pass http://unix:%DIR%/nobody.sock:/; })";
    options.servers = R"(server { listen %ADDRESS%:%TLS_PORT%;
        location / { return 404 "upstream says no"; } })";
    Store store(options);
    CHECK(store.http.get("/proxied/x").body == "upstream says no");
    expect_error(store.http.get("/dead/x"), 502, "service_unavailable");
}

TEST_CASE("nginx errors: error_page takes precedence")
{
    NginxOptions options;
    options.server = R"(
        location = /sorry { return 200 "sorry"; })";
    options.location =
        "error_page 500 =200 /sorry; if ($arg_fail) { return 500; }";
    Store store(options);
    const auto response = store.http.get("/v1/pets?fail=1");
    CHECK(response.status == 200);
    CHECK(response.body == "sorry");
}

TEST_CASE("nginx errors: a client too slow with its body is disconnected")
{
    NginxOptions options;
    options.location = "client_body_timeout 100ms;";
    Store store(options);
    RawClient client(store.nginx.port());
    client.send(store.head("POST /v1/pets HTTP/1.1", "Content-Length: 100\r\n")
                + "{\"name\":");
    const auto answer = client.read_all();
    CHECK((answer.empty() || contains(answer, " 408 ")));
    if (!answer.empty()) {
        CHECK(contains(answer, "request_timeout"));
    }
    CHECK(store.http.get("/v1/pets").body == "[]");
}
