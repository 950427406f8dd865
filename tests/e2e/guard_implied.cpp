// docs/guard.md: `petstore` guards its whole location, whatever handler
// answers in it.
#include <sys/stat.h>

#include "support/guarded_store.h"

using namespace petstore::e2e;

namespace {

struct Way {
    std::string method;
    std::string path;
    int status = 200;
    std::string body = "back end";
};

// Without a key nothing reaches the back end; with one, each request is charged
// once.
void expect_one_charge(GuardedStore& shop, Http& http, const Way& way)
{
    INFO(way.method << ' ' << way.path);
    const auto reached = shop.back_end.count();
    const auto charged = shop.charged();
    expect_error(http.send({way.method, way.path, kNoKey}), 401,
                 "missing_api_key");
    expect_error(http.send({way.method, way.path, kUnknownKey}), 401,
                 "invalid_api_key");
    CHECK(shop.back_end.count() == reached);
    CHECK(shop.charged() == charged);

    const auto response = http.request(way.method, way.path);
    CHECK(response.status == way.status);
    if (!way.body.empty()) {
        CHECK(response.body == way.body);
    }
    CHECK(rate_headers_of(response).remaining == 1'000'000 - charged - 1);
    CHECK(shop.charged() == charged + 1);

    // Over the limit.
    const auto& redis = shop.store.redis;
    http.use_key(limited_key(redis, 1).secret);
    CHECK(http.request(way.method, way.path).status == way.status);
    const auto before = shop.back_end.count();
    expect_error(http.request(way.method, way.path), 429,
                 "rate_limit_exceeded");
    CHECK(shop.back_end.count() == before);
    http.use_key(shop.store.key.secret);
}

void expect_one_charge(GuardedStore& shop, const std::vector<Way>& ways)
{
    Http http2(shop.store.nginx.tls_url(), shop.store.key.secret);
    http2.use_http2();
    for (const auto& way : ways) {
        expect_one_charge(shop, shop.http, way);
        expect_one_charge(shop, http2, way);
    }
}

void make_file(const Store& store, const std::string& folder,
               const std::string& file)
{
    for (std::size_t slash = folder.find('/'); slash != std::string::npos;
         slash = folder.find('/', slash + 1)) {
        mkdir(store.nginx.path(folder.substr(0, slash)).c_str(), 0777);
    }
    write_file(store.nginx.path(folder + file), file);
}

}  // namespace

TEST_CASE("guard: petstore implies it for every handler in its location")
{
    NginxOptions options;
    options.tls = true;
    options.location = R"(
        if ($arg_if) { proxy_pass http://%BACK_END%; }
        if ($arg_two) { set $two 1; }
        limit_except GET POST OPTIONS { proxy_pass http://%BACK_END%; }
        location /v1/prefix/ {
            proxy_pass http://%BACK_END%;
            location /v1/prefix/in/ {
                proxy_pass http://%BACK_END%;
                limit_except GET { proxy_pass http://%BACK_END%; }
            }
        }
        location ~ ^/v1/regex/ { proxy_pass http://%BACK_END%; }
        location = /v1/exact { proxy_pass http://%BACK_END%; }
        location /v1/files/ { root %DIR%; }
        location /v1/alias/ { alias %DIR%/v1/files/; autoindex on; }
        location /v1/try/ { try_files /none @back; }
        location /v1/code/ { root %DIR%; try_files /none =418; }
        location /v1/again/ { petstore; }
        location /v1/off/ {
            petstore_guard off;
            proxy_pass http://%BACK_END%;
        })";
    options.server = R"(
        location @back { proxy_pass http://%BACK_END%; }
        location /before/v1/ {
            proxy_pass http://%BACK_END%;
            petstore /before/v1;
            limit_except GET { proxy_pass http://%BACK_END%; }
        }
        location /after/v1/ {
            petstore /after/v1;
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options);
    make_file(shop.store, "v1/files/", "index.html");
    make_file(shop.store, "v1/files/", "a.txt");
    make_file(shop.store, "v1/files/list/", "b.txt");

    expect_one_charge(shop, {{"GET", "/v1/pets?if=1"},
                             {"POST", "/v1/pets?if=1"},
                             {"OPTIONS", "/v1/pets?if=1"},
                             {"GET", "/v1/openapi.json?if=1"},
                             {"GET", "/v1/pets?two=1", 200, "[]"},
                             {"DELETE", "/v1/pets"},
                             {"DELETE", "/v1/nowhere"},
                             {"GET", "/v1/prefix/"},
                             {"GET", "/v1/prefix/in/"},
                             {"PUT", "/v1/prefix/in/"},
                             {"GET", "/v1/regex/"},
                             {"GET", "/v1/exact"},
                             {"OPTIONS", "/v1/exact"},
                             {"GET", "/v1/files/a.txt", 200, "a.txt"},
                             {"GET", "/v1/files/", 200, "index.html"},
                             {"GET", "/v1/alias/list/", 200, ""},
                             {"GET", "/v1/try/"},
                             {"GET", "/v1/code/", 418, ""},
                             {"GET", "/v1/again/", 404, ""},
                             {"GET", "/before/v1/pets", 200, "[]"},
                             {"POST", "/before/v1/pets"},
                             {"GET", "/after/v1/pets"},
                             {"POST", "/after/v1/pets"},
                             {"OPTIONS", "/after/v1/pets"}});
    const auto open = shop.http.get("/v1/off/", kNoKey);
    CHECK(open.status == 200);
    CHECK_FALSE(open.has("x-ratelimit-limit"));
}

TEST_CASE("guard: petstore beside try_files")
{
    NginxOptions options;
    options.tls = true;
    options.location = "root %DIR%; try_files /none @back;";
    options.server = R"(
        location @back { proxy_pass http://%BACK_END%; }
        location /to/v1/ {
            petstore /to/v1;
            root %DIR%;
            try_files /none /shop/;
        }
        location /api/v1/ {
            petstore /api/v1;
            root %DIR%;
            try_files /none /again/v1/pets;
        }
        location /again/v1/ { petstore /again/v1; }
        location /code/v1/ {
            petstore /code/v1;
            root %DIR%;
            try_files /none =418;
        }
        location /file/v1/ {
            petstore /file/v1;
            root %DIR%;
            try_files $uri @back;
            if ($arg_if) { set $here 1; }
        })";
    GuardedStore shop(options);
    make_file(shop.store, "file/v1/", "pets");

    expect_one_charge(shop, {{"GET", "/v1/pets"},
                             {"POST", "/v1/pets"},
                             {"DELETE", "/v1/pets"},
                             {"GET", "/to/v1/pets"},
                             {"GET", "/api/v1/pets", 200, "[]"},
                             {"GET", "/code/v1/pets", 418, ""},
                             {"GET", "/file/v1/pets", 200, "[]"},
                             {"GET", "/file/v1/pets?if=1", 200, "[]"},
                             {"GET", "/file/v1/none"}});

    // Answered by the API itself, before try_files.
    const auto reached = shop.back_end.count();
    const auto charged = shop.charged();
    const auto document = shop.http.get("/v1/openapi.json", kNoKey);
    CHECK(document.status == 200);
    CHECK(document.json()["openapi"] == "3.1.0");
    const auto asked = shop.http.send({"OPTIONS", "/v1/pets", kNoKey});
    CHECK(asked.status == 204);
    CHECK(asked.header("allow") == "GET, HEAD, POST, OPTIONS");
    rate_headers_of(asked);
    const auto refused =
        shop.http.send({"POST", "/v1/openapi.json", kNoKey, "{}"});
    expect_error(refused, 405, "method_not_allowed");
    CHECK(shop.back_end.count() == reached);
    CHECK(shop.charged() == charged);
}

TEST_CASE("guard: the API beside try_files creates pets and keeps its limits")
{
    NginxOptions options;
    options.location =
        "root %DIR%; try_files $uri @back;petstore_max_body_size 100;";
    options.server = "location @back { proxy_pass http://%BACK_END%; }";
    GuardedStore shop(options);
    make_file(shop.store, "v1/", "pets");
    const std::string pet = R"({"name":"Rex","categoryId":7})";
    auto& http = shop.http;

    CHECK(http.post("/v1/pets", pet).status == 201);
    expect_error(http.post("/v1/pets", pet + std::string(100, ' ')), 413,
                 "payload_too_large");
    CHECK(shop.charged() == 2);
    // nginx's own limit is not lifted, and applies before authentication.
    expect_error(http.post("/v1/pets", std::string(1'100'000, ' ')), 413,
                 "payload_too_large");
    CHECK(shop.charged() == 2);
    http.use_key(create_key(shop.store.redis, {"--scopes", "read"}).secret);
    expect_error(http.post("/v1/pets", pet), 403, "insufficient_scope");
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(shop.back_end.count() == 0);
}

TEST_CASE("guard: petstore beside mirror")
{
    NginxOptions options;
    options.tls = true;
    options.location = "mirror /mirror;";
    options.server = R"(
        location = /mirror {
            internal;
            proxy_pass http://%BACK_END%$request_uri;
        })";
    GuardedStore shop(options);
    auto& http = shop.http;
    Http http2(shop.store.nginx.tls_url(), shop.store.key.secret);
    http2.use_http2();
    const std::string pet = R"({"name":"Rex","categoryId":7})";
    std::size_t reached = 0;

    for (auto* client : {&http, &http2}) {
        const auto charged = shop.charged();
        expect_error(client->get("/v1/pets", kNoKey), 401, "missing_api_key");
        expect_error(client->post("/v1/pets", pet, kUnknownKey), 401,
                     "invalid_api_key");
        CHECK(client->send({"OPTIONS", "/v1/pets", kNoKey}).status == 204);
        CHECK(client->get("/v1/openapi.json", kNoKey).status == 200);
        CHECK(shop.back_end.count() == reached);

        CHECK(client->get("/v1/pets").status == 200);
        ++reached;
        CHECK(wait_until([&] { return shop.back_end.count() == reached; }));
        CHECK(client->post("/v1/pets", pet).status == 201);
        ++reached;
        CHECK(wait_until([&] { return shop.back_end.count() == reached; }));
        CHECK(shop.back_end.last().body == pet);
        CHECK(shop.charged() == charged + 2);
    }
}

TEST_CASE("guard: petstore_admin and petstore_usage pass nothing on")
{
    NginxOptions options;
    options.tls = true;
    options.server = R"(
        mirror /mirror;
        location = /mirror {
            internal;
            mirror off;
            client_max_body_size 0;
            proxy_pass http://%BACK_END%$request_uri;
        }
        location @back { mirror off; proxy_pass http://%BACK_END%; }
        location /admin/v1/ { petstore_admin; }
        location /tried/v1/ {
            petstore_admin;
            mirror off;
            try_files /none @back;
            if ($arg_if) { set $here 1; }
        }
        location = /usage { petstore_usage; }
        location = /tried-usage {
            petstore_usage;
            mirror off;
            try_files /none @back;
        })";
    const BackEnd back_end;
    const Store store(with_back_end(options, back_end));
    const auto key = create_key(store.redis, {"--scopes", "admin"});
    Http http1(store.nginx.url(), key.secret);
    Http http2(store.nginx.tls_url(), key.secret);
    http2.use_http2();
    const Headers json = {{"Content-Type", "application/json"}};

    for (auto* http : {&http1, &http2}) {
        for (const std::string at : {"/admin/v1", "/tried/v1"}) {
            INFO(at);
            for (const auto& headers : {kNoKey, kUnknownKey}) {
                CHECK(http->get(at + "/plans", headers).status == 401);
                CHECK(http->post(at + "/accounts", std::string(100'000, ' '),
                                 headers)
                          .status
                      == 401);
            }
            const auto before = used(store.redis, key, "minute");
            CHECK(http->get(at + "/plans").status == 200);
            CHECK(http->get(at + "/plans?if=1").status == 200);
            CHECK(http->post(at + "/accounts", "{}", json).status == 201);
            CHECK(http->get(at + "/openapi.json").status == 200);
            expect_error(http->get(at + "/nothing"), 404, "not_found");
            CHECK(used(store.redis, key, "minute") == before + 5);
        }
        for (const std::string at : {"/usage", "/tried-usage"}) {
            INFO(at);
            CHECK(http->get(at, kNoKey).status == 401);
            CHECK(http->get(at).json()["account"] == key.account);
        }
    }
    // A mirror of the last request would arrive before its end.
    CHECK(http1.get("/usage").status == 200);
    CHECK(back_end.count() == 0);
}

TEST_CASE("guard: a proxied part of the API's location has nginx's body limit")
{
    NginxOptions options;
    options.tls = true;
    options.location = R"(
        client_max_body_size 2000;
        petstore_max_body_size 1000;
        if ($arg_if) { proxy_pass http://%BACK_END%; }
        limit_except GET POST { proxy_pass http://%BACK_END%; })";
    GuardedStore shop(options);
    Http http2(shop.store.nginx.tls_url(), shop.store.key.secret);
    http2.use_http2();
    const std::string fits(2000, 'x');
    const std::string exceeds(2001, 'x');

    for (auto* http : {&shop.http, &http2}) {
        for (const auto& [method, path] :
             {std::pair<std::string, std::string>("POST", "/v1/pets?if=1"),
              {"PUT", "/v1/pets"}}) {
            INFO(method);
            const auto reached = shop.back_end.count();
            const auto charged = shop.charged();
            CHECK(http->send({method, path, {}, fits}).status == 200);
            CHECK(shop.back_end.last().body == fits);
            // As everywhere in nginx, before authentication.
            for (const auto& headers : {Headers(), kNoKey}) {
                expect_error(http->send({method, path, headers, exceeds}), 413,
                             "payload_too_large");
            }
            CHECK(shop.charged() == charged + 1);
            CHECK(shop.back_end.count() == reached + 1);
        }
    }
    expect_error(shop.http.send({"POST", "/v1/pets?if=1", {}, exceeds, true}),
                 413, "payload_too_large");
    CHECK(shop.http.post("/v1/pets", exceeds, kNoKey).status == 401);
}

TEST_CASE(
    "guard: an error page by name has the body limit of the API's location")
{
    NginxOptions options;
    options.tls = true;
    options.http = "limit_req_zone all zone=all:1m rate=1r/m;";
    options.server = R"(
        client_max_body_size 2000;
        error_page 403 418 503 = @page;
        location @page { proxy_pass http://%BACK_END%; }
        location @guarded {
            petstore_guard on;
            client_max_body_size 0;
            proxy_pass http://%BACK_END%;
        }
        location /denied/v1/ { petstore /denied/v1; deny all; }
        location /admin/ { petstore_admin; deny all; }
        location /limited/v1/ { petstore /limited/v1; limit_req zone=all; }
        location /returned/v1/ { petstore /returned/v1; return 418; }
        location /except/v1/ {
            petstore /except/v1;
            limit_except GET { proxy_pass http://%BACK_END%; deny all; }
        }
        location /if/v1/ {
            petstore /if/v1;
            deny all;
            if ($uri) { proxy_pass http://%BACK_END%; }
        }
        location /own/v1/ {
            petstore /own/v1;
            deny all;
            error_page 403 = @guarded;
        }
        location /twice/v1/ {
            petstore /twice/v1;
            deny all;
            recursive_error_pages on;
            error_page 403 = @small;
        }
        location @small {
            recursive_error_pages on;
            error_page 413 = @large;
            proxy_pass http://%BACK_END%;
        }
        location @large { return 413 "large"; }
        location /api/v1/ {
            petstore /api/v1;
            deny all;
            error_page 403 = @api;
        }
        location @api { petstore /api/v1; }
        location /unlimited/v1/ {
            petstore /unlimited/v1;
            client_max_body_size 0;
            deny all;
            error_page 403 = @unlimited;
        }
        location /plain/ {
            client_max_body_size 0;
            error_page 418 = @unlimited;
            return 418;
        }
        location /between/v1/ {
            petstore /between/v1;
            deny all;
            error_page 403 /larger;
        }
        location = /larger {
            client_max_body_size 200k;
            try_files /none @unlimited;
        }
        location @unlimited {
            proxy_request_buffering off;
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options);
    Http http2(shop.store.nginx.tls_url(), shop.store.key.secret);
    http2.use_http2();
    const std::string fits(2000, 'x');
    const std::string exceeds(100'000, 'x');
    CHECK(shop.http.get("/limited/v1/openapi.json").status == 200);

    for (auto* http : {&shop.http, &http2}) {
        for (const std::string path :
             {"/denied/v1/pets", "/admin/keys", "/limited/v1/pets",
              "/returned/v1/pets", "/except/v1/pets", "/if/v1/pets",
              "/own/v1/pets", "/twice/v1/pets"}) {
            INFO(path);
            const auto reached = shop.back_end.count();
            CHECK(http->post(path, fits).body == "back end");
            CHECK(shop.back_end.count() == reached + 1);
            CHECK(shop.back_end.last().body == fits);
            const auto refused = http->post(path, exceeds);
            CHECK(shop.back_end.count() == reached + 1);
            if (path == "/twice/v1/pets") {
                CHECK(refused.status == 413);
                CHECK(refused.body == "large");
            } else {
                expect_error(refused, 413, "payload_too_large");
            }
        }
        for (const std::string path :
             {"/unlimited/v1/pets", "/plain/x", "/between/v1/pets"}) {
            INFO(path);
            CHECK(http->post(path, exceeds).body == "back end");
            CHECK(shop.back_end.last().body == exceeds);
        }
        CHECK(http->post("/api/v1/pets", exceeds, kNoKey).status == 401);
        CHECK(http->post("/api/v1/pets", exceeds).status == 413);
    }
}

TEST_CASE("guard: a direct request to an internal location")
{
    NginxOptions options;
    options.tls = true;
    options.location = "internal; petstore_anonymous_limit 30;";
    options.server = R"(
        location /guarded/ {
            internal;
            petstore_guard on;
            proxy_pass http://%BACK_END%;
        }
        location = /v1/usage { internal; petstore_usage; }
        location /admin/v1/ { internal; petstore_admin; }
        location = /status { internal; petstore_status; })";
    GuardedStore shop(options);
    Http http2(shop.store.nginx.tls_url(), shop.store.key.secret);
    http2.use_http2();

    for (auto* http : {&shop.http, &http2}) {
        for (const auto& headers : {Headers(), kNoKey}) {
            for (const std::string path :
                 {"/v1/pets", "/v1/openapi.json", "/v1/pets/1"}) {
                INFO(path);
                const auto response = http->get(path, headers);
                expect_error(response, 404, "not_found");
                CHECK(rate_headers_of(response).limit == 30);
                CHECK(rate_headers_of(response).remaining == 30);
                CHECK_FALSE(response.has("deprecation"));
            }
            const auto guarded = http->get("/guarded/", headers);
            expect_error(guarded, 404, "not_found");
            CHECK(rate_headers_of(guarded).remaining == 60);
            for (const std::string path : {"/v1/usage", "/admin/v1/keys"}) {
                INFO(path);
                const auto own = http->get(path, headers);
                expect_error(own, 404, "not_found");
                CHECK(rate_headers_of(own).remaining == 60);
            }
            expect_error(http->post("/v1/pets", "{}", headers), 404,
                         "not_found");
        }
    }
    CHECK(shop.charged() == 0);
    CHECK(shop.back_end.count() == 0);
}

TEST_CASE("guard: internal status and health are not guarded")
{
    NginxOptions options;
    options.server = R"(
        petstore_guard on;
        location = /status { internal; petstore_status; }
        location = /health { internal; petstore_health ready; })";
    GuardedStore shop(options);
    for (const std::string path : {"/status", "/health"}) {
        INFO(path);
        const auto response = shop.http.get(path);
        CHECK(response.status == 404);
        CHECK_FALSE(response.has("x-ratelimit-limit"));
    }
    CHECK(shop.charged() == 0);
}
