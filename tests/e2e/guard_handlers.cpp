// docs/guard.md, "Where it runs": the handlers it protects, and the levels at
// which it can be switched on and off.
#include <sys/stat.h>

#include <cstring>

#include "support/guarded_store.h"
#include "support/one_worker.h"

using namespace petstore::e2e;

namespace {

std::string big_body()
{
    std::string text;
    for (int i = 0; text.size() < 3'000'000; ++i) {
        text += std::to_string(i) + ",";
    }
    return text;
}

// Creates files in a folder of nginx's prefix.
void make_files(const NginxServer& nginx, const std::string& folder)
{
    mkdir(nginx.path(folder).c_str(), 0777);
    write_file(nginx.path(folder + "/a.txt"), "0123456789");
    write_file(nginx.path(folder + "/index.html"), "<p>index</p>");
}

}  // namespace

TEST_CASE("guard: request bodies reach the back end intact")
{
    std::string shop_lines = "client_max_body_size 0;";
    SECTION("buffered") {}
    SECTION("unbuffered")
    {
        shop_lines += "proxy_request_buffering off; proxy_http_version 1.1;";
    }
    SECTION("in a temporary file")
    {
        shop_lines += "client_body_in_file_only clean;";
    }
    NginxOptions options;
    options.tls = true;
    GuardedStore shop(options, shop_lines);
    auto& store = shop.store;
    Http http2(store.nginx.tls_url(), store.key.secret);
    http2.use_http2();
    int sent = 0;
    for (const auto& body : {std::string(), std::string("x"), big_body()}) {
        INFO(body.size());
        for (auto* http : {&store.http, &http2}) {
            for (const bool chunked : {false, true}) {
                if (chunked && http == &http2) {
                    continue;  // not in HTTP/2
                }
                const auto response =
                    http->send({"POST", "/shop/", {}, body, chunked});
                CHECK(response.status == 200);
                CHECK(response.version == (http == &http2 ? "2" : "1.1"));
                CHECK((shop.back_end.last().body == body));
                ++sent;
            }
        }
    }
    const auto expected = store.http.send(
        {"POST", "/shop/", {{"Expect", "100-continue"}}, big_body()});
    CHECK(expected.status == 200);
    CHECK((shop.back_end.last().body == big_body()));
    CHECK(shop.back_end.count() == static_cast<std::size_t>(sent + 1));
    CHECK(shop.charged() == sent + 1);
}

TEST_CASE("guard: 100 Continue is sent only once the request is let through")
{
    GuardedStore shop;
    auto& store = shop.store;
    const std::string more = "Expect: 100-continue\r\nContent-Length: 3\r\n";

    RawClient refused(store.nginx.port());
    refused.send("POST /shop/ HTTP/1.1\r\nHost: a\r\n" + more + "\r\n");
    const auto response = refused.read();
    expect_error(response, 401, "missing_api_key");
    // The body may never arrive.
    CHECK(response.header("connection") == "close");
    refused.finish_sending();
    CHECK(refused.closes());

    RawClient passed(store.nginx.port());
    passed.send(store.head("POST /shop/ HTTP/1.1", more));
    CHECK(passed.read().status == 100);
    passed.send("abc");
    CHECK(passed.read().status == 200);
    CHECK(shop.back_end.last().body == "abc");
    CHECK(shop.back_end.count() == 1);
}

TEST_CASE("guard: the page of a refusal neither asks nor waits for the body")
{
    NginxOptions options;
    options.server = R"(
        location @page { proxy_pass http://%BACK_END%; }
        location = /page { proxy_pass http://%BACK_END%; })";
    for (const std::string page : {"= @page", "@page", "= /page", "/page"}) {
        GuardedStore shop(options, "error_page 401 " + page + ";");
        const std::string next = shop.store.head("GET /shop/next HTTP/1.1");
        const auto length = std::to_string(next.size());
        const std::string lengths[] = {"Content-Length: " + length,
                                       "Transfer-Encoding: chunked"};
        std::size_t pages = 0;
        for (const auto& line : lengths) {
            for (const bool waits : {true, false}) {
                INFO(page << ", " << line << (waits ? "" : ", and a body"));
                RawClient client(shop.store.nginx.port());
                client.send("POST /shop/ HTTP/1.1\r\nHost: a\r\n"
                            "Expect: 100-continue\r\n"
                            + line + "\r\n\r\n" + (waits ? "" : next));
                const auto response = client.read();
                CHECK(response.status == (page[0] == '=' ? 200 : 401));
                CHECK(response.body == "back end");
                CHECK(response.header("connection") == "close");
                client.finish_sending();
                CHECK(client.closes());
                CHECK(shop.back_end.count() == ++pages);
                const auto reached = shop.back_end.last();
                CHECK(reached.body.empty());
                CHECK_FALSE(reached.has("content-length"));
                CHECK_FALSE(reached.has("transfer-encoding"));
            }
        }
        CHECK(shop.charged() == 0);
    }
}

TEST_CASE("guard: the body of a refused request is not the next request")
{
    GuardedStore shop;
    auto& store = shop.store;
    const auto limited = limited_key(store.redis, 1);
    Http(store.nginx.url(), limited.secret).get("/shop/");
    const std::string smuggled = store.head("GET /shop/smuggled HTTP/1.1");

    RawClient client(store.nginx.port());
    const auto length = std::to_string(smuggled.size());
    client.send("POST /shop/ HTTP/1.1\r\nHost: a\r\nContent-Length: " + length
                + "\r\n\r\n" + smuggled);
    expect_error(client.read(), 401, "missing_api_key");
    client.send("POST /shop/ HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
                + limited.secret + "\r\nContent-Length: " + length + "\r\n\r\n"
                + smuggled);
    expect_error(client.read(), 429, "rate_limit_exceeded");
    // Pipelined requests, some admitted and some refused.
    client.send(store.head("GET /shop/1 HTTP/1.1")
                + "GET /shop/ HTTP/1.1\r\nHost: a\r\n\r\n"
                + store.head("GET /shop/2 HTTP/1.1"));
    CHECK(client.read().status == 200);
    expect_error(client.read(), 401, "missing_api_key");
    CHECK(client.read().status == 200);
    CHECK(shop.back_end.last().target == "/shop/2");
    CHECK(shop.back_end.count() == 3);
}

TEST_CASE("guard: HTTP/2")
{
    NginxOptions options;
    options.tls = true;
    GuardedStore shop(options);
    auto& store = shop.store;
    Http http(store.nginx.tls_url(), limited_key(store.redis, 2).secret);
    http.use_http2();
    expect_error(http.get("/shop/", kNoKey), 401, "missing_api_key");
    expect_error(
        http.send({"POST", "/shop/", kUnknownKey, std::string(200'000, 'x')}),
        401, "invalid_api_key");
    CHECK(http.get("/shop/").version == "2");
    CHECK(http.head("/shop/").status == 200);
    expect_error(http.post("/shop/", std::string(200'000, 'x')), 429,
                 "rate_limit_exceeded");
    CHECK(shop.back_end.count() == 2);
}

TEST_CASE("guard: static files")
{
    NginxOptions options;
    options.server = R"(
        location /files/ { petstore_guard on; root %DIR%; })";
    Store store(options);
    make_files(store.nginx, "files");
    auto& http = store.http;

    const auto file = http.get("/files/a.txt");
    CHECK(file.status == 200);
    CHECK(file.body == "0123456789");
    CHECK(file.header("content-type") == "text/plain");
    CHECK(file.header("accept-ranges") == "bytes");
    CHECK_FALSE(file.has("cache-control"));
    CHECK(rate_headers_of(file).remaining == 999'999);

    const auto part = http.get("/files/a.txt", {{"Range", "bytes=2-4"}});
    CHECK(part.status == 206);
    CHECK(part.body == "234");
    CHECK(part.header("content-range") == "bytes 2-4/10");
    CHECK(rate_headers_of(part).remaining == 999'998);

    const auto unchanged =
        http.get("/files/a.txt", {{"If-None-Match", file.header("etag")}});
    CHECK(unchanged.status == 304);
    CHECK(unchanged.body.empty());
    CHECK(rate_headers_of(unchanged).remaining == 999'997);

    expect_error(http.get("/files/none"), 404, "not_found");
    const auto folder = http.get("/files");
    CHECK(folder.status == 404);  // outside the guarded location
    CHECK_FALSE(folder.has("x-ratelimit-limit"));
    const auto head = http.head("/files/a.txt");
    CHECK(head.status == 200);
    CHECK(head.header("content-length") == "10");
    rate_headers_of(head);
    CHECK(used(store.redis, store.key, "minute") == 5);

    expect_guarded(store, "/files/a.txt", 200);
    expect_guarded(store, "/files/", 200);
}

TEST_CASE("guard: try_files runs behind it")
{
    NginxOptions options;
    options.server = R"(
        root %DIR%/files;
        location /a.txt { petstore_guard on; try_files $uri =404; }
        location /tried/ {
            petstore_guard on;
            try_files /none $uri @back;
        }
        location @back { proxy_pass http://%BACK_END%; }
        location /missing/ { petstore_guard on; try_files /none =404; }
        location /inside/ { petstore_guard on; try_files /none /shop/inside; })";
    GuardedStore shop(options);
    auto& store = shop.store;
    make_files(store.nginx, "files");

    CHECK(store.http.get("/a.txt").body == "0123456789");
    CHECK(store.http.get("/tried/x").body == "back end");
    CHECK(shop.back_end.last().target == "/tried/x");
    expect_error(store.http.get("/missing/x"), 404, "not_found");
    CHECK(store.http.get("/inside/x").body == "back end");
    CHECK(shop.charged() == 4);
    CHECK(shop.back_end.count() == 2);

    for (const auto& [path, status] : {std::pair("/a.txt", 200),
                                       {"/tried/x", 200},
                                       {"/missing/x", 404},
                                       {"/inside/x", 200}}) {
        expect_guarded(store, path, status);
    }
    CHECK(shop.back_end.count() == 4);
}

TEST_CASE("guard: mirror runs behind it, and costs nothing")
{
    NginxOptions options;
    options.server = R"(
        location /mirrored/ {
            petstore_guard on;
            mirror /copy;
            proxy_pass http://%BACK_END%;
        }
        location = /copy {
            internal;
            petstore_guard on;
            proxy_pass http://%BACK_END%/copy;
        })";
    GuardedStore shop(options);
    CHECK(shop.http.post("/mirrored/", "abc").status == 200);
    CHECK(wait_until([&] { return shop.back_end.count() == 2; }));
    for (const auto& request : shop.back_end.requests()) {
        CHECK(request.method == "POST");
        CHECK(request.body == "abc");
    }
    CHECK(shop.charged() == 1);

    expect_error(shop.http.send({"POST", "/mirrored/", kNoKey, "abc"}), 401,
                 "missing_api_key");
    CHECK(shop.http.post("/mirrored/", "last").status == 200);
    CHECK(wait_until([&] { return shop.back_end.count() == 4; }));
    CHECK(shop.back_end.last().body == "last");
}

TEST_CASE("guard: a cached response has the rate headers of whoever asks")
{
    const BackEnd back_end([](const BackEnd::Request& request) {
        return Response{
            request.target == "/none" ? 404 : 200,
            "1.1",
            {{"X-RateLimit-Limit", "7"}, {"Content-Type", "text/html"}},
            "cached"};
    });
    NginxOptions options;
    options.file = one_worker(
        "proxy_cache_path cache keys_zone=cache:1m; petstore_redis %REDIS%; %TIMEOUTS%",
        R"(
        petstore_guard on;
        proxy_cache cache;
        proxy_cache_valid 200 404 1h;
        add_header X-Cache $upstream_cache_status always;
        location / { proxy_pass http://)"
            + back_end.address() + "; }");
    options.workers = 3;  // with the cache's manager and loader
    const Store store(options);

    for (const auto& [path, status] :
         {std::pair("/some", 200), {"/none", 404}}) {
        for (const char* const cache : {"MISS", "HIT", "HIT"}) {
            INFO(path << " " << cache);
            const auto key = create_key(store.redis, {"--plan", "pro"});
            const auto response = Http(store.nginx.url(), key.secret).get(path);
            CHECK(response.status == status);
            CHECK(response.body == "cached");
            CHECK(response.header("x-cache") == cache);
            CHECK(rate_headers_of(response).limit == 300);
            CHECK(rate_headers_of(response).remaining == 299);
            CHECK(used(store.redis, key, "minute") == 1);
        }
        expect_error(Http(store.nginx.url()).get(path), 401, "missing_api_key");
    }
    CHECK(back_end.count() == 2);
}

TEST_CASE("guard: an error that nginx makes of a cached response is an Error")
{
    const BackEnd back_end([](const BackEnd::Request&) {
        return Response{200,
                        "1.1",
                        {{"Accept-Ranges", "bytes"},
                         {"Last-Modified", "Sun, 22 Nov 2026 19:44:39 GMT"},
                         {"ETag", "\"a\""}},
                        "cached"};
    });
    NginxOptions options;
    options.file = one_worker(
        "proxy_cache_path cache keys_zone=cache:1m; petstore_redis %REDIS%; %TIMEOUTS%",
        R"(
        petstore_json_errors on;
        proxy_cache cache;
        proxy_cache_valid 200 1h;
        add_header X-Cache $upstream_cache_status always;
        location / { petstore_guard on; proxy_pass http://BACK_END; }
        location /named/ { petstore_guard on; try_files /none @named; }
        location @named { proxy_pass http://BACK_END; }
        location /open/ { proxy_pass http://BACK_END; })");
    for (auto at = options.file.find("BACK_END"); at != std::string::npos;
         at = options.file.find("BACK_END")) {
        options.file.replace(at, 8, back_end.address());
    }
    options.workers = 3;  // with the cache's manager and loader
    const Store store(options);
    const auto key = create_key(store.redis, {"--plan", "pro"});
    Http http(store.nginx.url(), key.secret);

    for (const std::string path : {"/some", "/named/", "/open/"}) {
        INFO(path);
        const auto missed = http.get(path, {{"If-Match", "\"b\""}});
        expect_error(missed, 412, "bad_request");
        CHECK(http.get(path).body == "cached");
        for (const auto& [header, value, status] :
             {std::tuple("If-Match", "\"b\"", 412),
              {"Range", "bytes=100-", 416}}) {
            const auto hit = http.get(path, {{header, value}});
            INFO(header);
            // nginx adds it twice to a 416.
            CHECK(hit.all("x-cache").front() == "HIT");
            CHECK(hit.status == status);
            CHECK(hit.json()["status"] == status);
            if (path != "/open/") {
                CHECK(rate_headers_of(hit).limit == 300);
            }
        }
    }
}

TEST_CASE("guard: FastCGI")
{
    BackEnd back_end(
        [](const BackEnd::Request& request) {
            return Response{
                request.target == "/app/broken" ? 500 : 201,
                "",
                {{"Content-Type", "text/plain"}, {"X-RateLimit-Limit", "7"}},
                "by FastCGI"};
        },
        BackEnd::Protocol::fastcgi);
    NginxOptions options;
    options.server = R"(
        location /app/ {
            petstore_guard on;
            fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_param REQUEST_URI $request_uri;
            fastcgi_param HTTP_X_ACCOUNT $petstore_account;
            fastcgi_pass %BACK_END%;
        })";
    Store store(with_back_end(options, back_end));

    const auto response = store.http.post("/app/a?b=c", "{\"d\":1}");
    CHECK(response.status == 201);
    CHECK(response.body == "by FastCGI");
    CHECK(rate_headers_of(response).limit == 1'000'000);
    const auto reached = back_end.last();
    CHECK(reached.method == "POST");
    CHECK(reached.target == "/app/a?b=c");
    CHECK(reached.body == "{\"d\":1}");
    CHECK(reached.header("x-account") == store.key.account);

    const auto broken = store.http.get("/app/broken");
    CHECK(broken.status == 500);
    CHECK(broken.body == "by FastCGI");
    rate_headers_of(broken);
    CHECK(used(store.redis, store.key, "minute") == 2);
    expect_guarded(store, "/app/", 201);
    CHECK(back_end.count() == 3);
}

TEST_CASE("guard: other handlers of nginx")
{
    NginxOptions options;
    options.server = R"(
        petstore_guard on;
        location /gif { empty_gif; }
        location /status { stub_status; }
        location /list/ { root %DIR%; autoindex on; })";
    Store store(options);
    mkdir(store.nginx.path("list").c_str(), 0777);
    expect_guarded(store, "/gif", 200);
    expect_guarded(store, "/status", 200);
    expect_guarded(store, "/list/", 200);
}

TEST_CASE("guard: petstore_guard at server and http level")
{
    NginxOptions options;
    const std::string locations = R"(
        location /guarded/ {
            proxy_pass http://%BACK_END%;
            location /guarded/off/ {
                petstore_guard off;
                proxy_pass http://%BACK_END%;
                location /guarded/off/on/ {
                    petstore_guard on;
                    proxy_pass http://%BACK_END%;
                }
            }
        })";
    SECTION("http")
    {
        options.http = "petstore_guard on;";
        options.server = locations;
    }
    SECTION("server")
    {
        options.server = "petstore_guard on;" + locations;
    }
    SECTION("server, against http")
    {
        options.http = "petstore_guard off;";
        options.server = "petstore_guard on;" + locations;
    }
    GuardedStore shop(options);
    auto& store = shop.store;
    expect_guarded(store, "/guarded/", 200);
    expect_guarded(store, "/guarded/off/on/", 200);
    expect_guarded(store, "/nowhere", 404);
    RawClient broken(store.nginx.port());
    broken.send("GET\r\n\r\n");
    expect_error(broken.read(), 400, "bad_request");
    const auto open = store.http.get("/guarded/off/", kNoKey);
    CHECK(open.status == 200);
    CHECK_FALSE(open.has("x-ratelimit-limit"));
    // The API is unaffected.
    CHECK(store.http.get("/v1/pets").status == 200);
    CHECK(store.http.request("OPTIONS", "/v1/pets").status == 204);
    expect_error(store.http.get("/v1/pets", kNoKey), 401, "missing_api_key");
    CHECK(shop.charged() == 1);
}

TEST_CASE("guard: if and limit_except are parts of their location")
{
    NginxOptions options;
    options.server = R"(
        location /parts/ {
            petstore_guard on;
            if ($arg_file) { root %DIR%; }
            limit_except GET { deny all; }
            proxy_pass http://%BACK_END%;
        }
        location /free/ {
            if ($arg_a) { set $b 1; }
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options);
    auto& store = shop.store;
    mkdir(store.nginx.path("parts").c_str(), 0777);
    write_file(store.nginx.path("parts/a.txt"), "file");

    expect_guarded(store, "/parts/x", 200);
    expect_guarded(store, "/parts/a.txt?file=1", 200);
    CHECK(store.http.get("/free/?a=1", kNoKey).status == 200);

    const auto reached = shop.back_end.count();
    const auto denied = store.http.post("/parts/x", "x");
    expect_error(denied, 403, "forbidden");
    CHECK(shop.charged() == 0);
    CHECK(shop.back_end.count() == reached);
}

TEST_CASE("guard: a WebSocket is charged when it starts")
{
    GuardedStore shop(
        {},
        "proxy_http_version 1.1;proxy_set_header Upgrade $http_upgrade;proxy_set_header Connection upgrade;",
        [](const BackEnd::Request&) {
            return Response{
                101,
                "1.1",
                {{"Upgrade", "websocket"}, {"Connection", "Upgrade"}},
                ""};
        });
    auto& store = shop.store;
    const std::string upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\n";
    RawClient refused(store.nginx.port());
    refused.send("GET /shop/ HTTP/1.1\r\nHost: a\r\n" + upgrade + "\r\n");
    expect_error(refused.read(), 401, "missing_api_key");
    CHECK(shop.back_end.count() == 0);

    RawClient client(store.nginx.port());
    client.send(store.head("GET /shop/ HTTP/1.1", upgrade));
    const auto response = client.read();
    CHECK(response.status == 101);
    CHECK(rate_headers_of(response).remaining == 999'999);
    for (const char* text : {"one", "two", "three"}) {
        client.send(text);
        CHECK(client.take(std::strlen(text)) == text);
    }
    CHECK(shop.back_end.last().header("upgrade") == "websocket");
    CHECK(shop.charged() == 1);
}
