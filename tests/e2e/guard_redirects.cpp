// docs/guard.md, "Redirects, error pages and subrequests"; and what nginx does
// before the guard.
#include <sys/stat.h>

#include <cstdlib>
#include <ctime>

#include "support/guarded_store.h"

using namespace petstore::e2e;

namespace {

using Values = std::vector<std::string>;

// A back end that redirects to /inner/… within nginx.
Response redirecting(const BackEnd::Request& request)
{
    if (request.target.rfind("/outer/", 0) == 0) {
        return {200,
                "1.1",
                {{"X-Accel-Redirect", "/inner/" + request.target.substr(7)}},
                ""};
    }
    return {200, "1.1", {}, request.method + " " + request.target};
}

void make_page(const Store& store, const std::string& file,
               const std::string& text)
{
    const auto path = store.nginx.path("pages/" + file);
    mkdir(store.nginx.path("pages").c_str(), 0777);
    write_file(path, text);
}

}  // namespace

TEST_CASE("guard: error_page replaces its refusals by a page")
{
    NginxOptions options;
    options.server = R"(
        location = /login.html { root %DIR%/pages; }
        location = /busy.html { petstore_guard on; root %DIR%/pages; }
        location @back {
            proxy_set_header X-Refused $petstore_error_code;
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options, R"(
        error_page 401 /login.html;
        error_page 429 /busy.html;
        error_page 403 = @back;)");
    auto& store = shop.store;
    make_page(store, "login.html", "<p>log in</p>");
    make_page(store, "busy.html", "<p>busy</p>");
    const auto key = limited_key(store.redis, 1);

    const auto refused = store.http.post("/shop/", "x", kNoKey);
    CHECK(refused.status == 401);
    CHECK(refused.body == "<p>log in</p>");
    CHECK(refused.header("content-type") == "text/html");
    CHECK(refused.header("www-authenticate") == "Bearer realm=\"petstore\"");
    rate_headers_of(refused);

    // The page itself is guarded.
    store.http.use_key(key.secret);
    CHECK(store.http.get("/shop/").status == 200);
    const auto limited = store.http.get("/shop/");
    CHECK(limited.status == 429);
    CHECK(limited.body == "<p>busy</p>");
    CHECK(limited.has("retry-after"));
    CHECK(rate_headers_of(limited).remaining == 0);
    CHECK(used(store.redis, key, "minute") == 1);
    expect_error(store.http.get("/busy.html", kNoKey), 401, "missing_api_key");
    CHECK(shop.back_end.count() == 1);

    // A named location supplies the response and its status.
    store.http.use_key(create_key(store.redis, {"--scopes", "read"}).secret);
    const auto named = store.http.post("/shop/", "x");
    CHECK(named.status == 200);
    CHECK(named.body == "back end");
    CHECK(rate_headers_of(named).remaining == 999'999);
    CHECK(shop.back_end.last().header("x-refused") == "insufficient_scope");
}

TEST_CASE("guard: an error page does not repeat the headers of the refusal")
{
    NginxOptions options;
    options.server = R"(
        location /busy/ {
            petstore_guard on;
            error_page 401 429 @busy;
            root %DIR%/pages;
        }
        location @busy { proxy_pass http://%BACK_END%; })";
    GuardedStore shop(options, "error_page 401 429 503 /v1/pets;", [](auto&) {
        return Response{429,
                        "1.1",
                        {{"Retry-After", "7"},
                         {"WWW-Authenticate", "Bearer realm=\"petstore\""},
                         {"WWW-Authenticate", "Basic realm=\"page\""}},
                        "busy"};
    });
    auto& http = shop.http;

    const auto refused = http.get("/busy/", kNoKey);
    CHECK(refused.status == 401);
    CHECK(refused.body == "busy");
    CHECK(refused.all("www-authenticate")
          == Values{"Bearer realm=\"petstore\"", "Basic realm=\"page\""});

    const auto key = limited_key(shop.store.redis, 1);
    http.use_key(key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    const auto seconds = [](const Response& response) {
        return std::stol(response.header("retry-after"));  // of only one
    };
    // From the guard: the page's 7 seconds are not until Reset.
    const auto proxied = http.get("/busy/");
    CHECK(proxied.status == 429);
    CHECK(proxied.body == "busy");
    const auto left = rate_headers_of(proxied).reset - std::time(nullptr);
    CHECK(std::abs(left - seconds(proxied)) <= 3);
    // A location of the API, which refuses the request, too.
    const auto api = http.get("/shop/");
    expect_error(api, 429, "rate_limit_exceeded");
    CHECK(seconds(api) >= 1);
    CHECK(rate_headers_of(api).remaining == 0);

    http.use_key(create_key(shop.store.redis).secret);
    shop.store.redis.kill_hard();
    const auto away = http.get("/shop/");
    expect_error(away, 503, "service_unavailable");
    CHECK(away.header("retry-after") == "1");
}

TEST_CASE("guard: the page of a refusal leads to no other guarded location")
{
    NginxOptions options;
    options.server = R"(
        location /secret/ { petstore_guard on; proxy_pass http://%BACK_END%; }
        location /outer/ { proxy_pass http://%BACK_END%; }
        location = /page/ssi.html { ssi on; root %DIR%/pages; }
        location = /page/guarded.html {
            petstore_guard on; ssi on; root %DIR%/pages;
        }
        location = /page/mirror.html {
            mirror /secret/mirrored; root %DIR%/pages;
        }
        location = /page/auth.html {
            auth_request /secret/asked; root %DIR%/pages;
        }
        location = /page/try.html { try_files /nope /secret/tried; }
        location = /page/rewrite.html { rewrite ^ /secret/rewritten last; }
        location = /page/recursive.html {
            recursive_error_pages on; error_page 404 = /secret/page; return 404;
        }
        location @page { ssi on; proxy_pass http://%BACK_END%; })";
    for (const std::string page :
         {"/page/ssi.html", "/page/guarded.html", "/page/mirror.html",
          "/page/auth.html", "/page/try.html", "/page/rewrite.html",
          "/page/recursive.html", "/outer/accel", "@page"}) {
        INFO(page);
        GuardedStore shop(options, "error_page 401 403 429 503 " + page + ";",
                          [](const BackEnd::Request& request) -> Response {
                              if (request.target.rfind("/outer/", 0) == 0) {
                                  return {200,
                                          "1.1",
                                          {{"X-Accel-Redirect", "/secret/x"}},
                                          ""};
                              }
                              return {200,
                                      "1.1",
                                      {{"Content-Type", "text/html"}},
                                      "<!--#include virtual=\"/secret/y\" -->"};
                          });
        make_page(shop.store, "page", "");
        std::remove(shop.store.nginx.path("pages/page").c_str());
        mkdir(shop.store.nginx.path("pages/page").c_str(), 0777);
        for (const char* file : {"ssi", "guarded", "mirror", "auth"}) {
            make_page(shop.store, "page/" + std::string(file) + ".html",
                      "page <!--#include virtual=\"/secret/y\" -->");
        }
        const auto key = limited_key(shop.store.redis, 1);
        Http limited(shop.store.nginx.url(), key.secret);
        CHECK(limited.get("/v1/pets").status == 200);
        limited.get("/shop/over");
        for (const auto& headers : {kNoKey, kUnknownKey}) {
            shop.http.get("/shop/", headers);
            shop.http.post("/shop/", "x", headers);
        }
        for (const auto& request : shop.back_end.requests()) {
            INFO(request.target);
            CHECK(request.target.rfind("/secret/", 0) != 0);
        }
        // A valid key gets there, once admitted.
        CHECK(shop.http.get("/secret/z").status == 200);
    }
}

TEST_CASE("guard: guarded pages of refusals lead to one another only once")
{
    NginxOptions options;
    options.http = "recursive_error_pages on;";
    options.server = R"(
        location = /failing {
            petstore_guard on;
            error_page 401 /failing;
            error_page 502 /guarded;
            proxy_pass http://%ADDRESS%:1;
        }
        location = /guarded {
            petstore_guard on;
            error_page 401 /failing;
            proxy_pass http://%BACK_END%;
        }
        location = /half { error_page 502 /last; proxy_pass http://%ADDRESS%:1; }
        location = /last {
            petstore_guard on;
            error_page 401 /open;
            proxy_pass http://%BACK_END%;
        }
        location = /open { proxy_pass http://%BACK_END%; })";
    {
        GuardedStore shop(options, "error_page 401 /failing;");
        const auto response = shop.http.get("/shop/", kNoKey);
        expect_error(response, 401, "missing_api_key");
        CHECK(rate_headers_of(response).remaining == 59);
        CHECK(shop.back_end.count() == 0);
    }
    // What is not guarded may be the page of a second refusal.
    GuardedStore shop(options, "error_page 401 /half;");
    const auto response = shop.http.get("/shop/", kNoKey);
    CHECK(response.status == 401);
    CHECK(response.body == "back end");
    CHECK(shop.back_end.count() == 1);
}

TEST_CASE("guard: error_page changes the status of its refusals")
{
    NginxOptions options;
    options.server = R"(
        location = /page.html { root %DIR%/pages; }
        location /gone/ {
            petstore_guard on;
            error_page 401 =410 /page.html;
            proxy_pass http://%BACK_END%;
        }
        location /missing/ {
            petstore_guard on;
            error_page 401 /none.html;
            proxy_pass http://%BACK_END%;
        }
        location /away/ {
            petstore_guard on;
            error_page 401 =302 https://example.com/login;
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options, "error_page 401 =200 /page.html;");
    make_page(shop.store, "page.html", "page");
    auto& http = shop.http;

    const auto fine = http.get("/shop/", kNoKey);
    CHECK(fine.status == 200);
    CHECK(fine.body == "page");
    rate_headers_of(fine);
    const auto gone = http.get("/gone/", kNoKey);
    CHECK(gone.status == 410);
    CHECK(gone.body == "page");
    expect_error(http.get("/missing/", kNoKey), 404, "not_found");
    const auto away = http.get("/away/", kNoKey);
    CHECK(away.status == 302);
    CHECK(away.header("location") == "https://example.com/login");
    rate_headers_of(away);
    CHECK(shop.back_end.count() == 0);
}

TEST_CASE("guard: an error page may be the text of a return")
{
    NginxOptions options;
    options.server = R"(
        default_type text/html;
        location = /login { return 200 "<html><p>log in</p>"; }
        location = /short { return 200 "<"; }
        location = /empty { return 200 ""; }
        location @busy { return 503 "<p>busy</p>"; }
        location /short/ {
            petstore_guard on;
            error_page 401 /short;
            proxy_pass http://%BACK_END%;
        }
        location /empty/ {
            petstore_guard on;
            error_page 401 /empty;
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options, R"(
        error_page 401 /login;
        error_page 429 =503 @busy;)");
    auto& http = shop.http;

    const auto refused = http.get("/shop/", kNoKey);
    CHECK(refused.status == 401);
    CHECK(refused.body == "<html><p>log in</p>");
    CHECK(refused.header("content-type") == "text/html");
    rate_headers_of(refused);
    const auto shorter = http.get("/short/", kNoKey);
    CHECK(shorter.status == 401);
    CHECK(shorter.body == "<");
    rate_headers_of(shorter);
    const auto empty = http.get("/empty/", kNoKey);
    CHECK(empty.status == 401);
    CHECK(empty.body.empty());
    CHECK(empty.header("content-type") == "text/html");
    rate_headers_of(empty);

    http.use_key(limited_key(shop.store.redis, 1).secret);
    CHECK(http.get("/shop/").status == 200);
    const auto limited = http.get("/shop/");
    CHECK(limited.status == 503);
    CHECK(limited.body == "<p>busy</p>");
    CHECK(rate_headers_of(limited).remaining == 0);
}

TEST_CASE("guard: an error page may look like one of nginx's own")
{
    NginxOptions options;
    options.server = "location = /nginx { return 403; }";
    GuardedStore shop(options, "");
    const auto page = shop.http.get("/nginx").body;
    REQUIRE_FALSE(page.empty());

    options.server = R"(
        default_type text/html;
        location = /login { return 200 ')"
                     + page + R"('; })";
    GuardedStore copied(options, "error_page 401 /login;");
    const auto refused = copied.http.get("/shop/", kNoKey);
    CHECK(refused.status == 401);
    CHECK(refused.body == page);
}

TEST_CASE("guard: a missing error page leaves the Error shape")
{
    NginxOptions options;
    options.server = R"(
        petstore_json_errors on;
        error_page 404 /none.html;
        location = /none.html { root %DIR%/pages; }
        location /files/ { petstore_guard on; root %DIR%/pages; }
        location /plain/ { root %DIR%/pages; })";
    GuardedStore shop(options, "");
    // The error page is missing, so nginx generates a page with the first
    // status.
    const auto guarded = shop.http.get("/files/x");
    expect_error(guarded, 404, "not_found");
    rate_headers_of(guarded);
    expect_error(shop.http.get("/plain/x", kNoKey), 404, "not_found");
    const auto head = shop.http.head("/files/x");
    CHECK(head.status == 404);
    CHECK(head.header("content-type") == "application/json");
}

TEST_CASE("guard: error_page for an error of the back end is not charged again")
{
    NginxOptions options;
    options.server = R"(
        petstore_guard on;
        location = /sorry { proxy_pass http://%BACK_END%; })";
    GuardedStore shop(
        options, "proxy_intercept_errors on; error_page 500 /sorry;",
        [](const BackEnd::Request& request) {
            return Response{
                request.target == "/sorry" ? 200 : 500, "1.1", {}, "sorry"};
        });
    const auto response = shop.http.get("/shop/");
    CHECK(response.status == 500);
    CHECK(response.body == "sorry");
    rate_headers_of(response);
    CHECK(shop.charged() == 1);
    CHECK(shop.back_end.count() == 2);
}

TEST_CASE("guard: internal redirects are charged once")
{
    NginxOptions options;
    options.server = R"(
        petstore_guard on;
        location /outer/ { proxy_pass http://%BACK_END%; }
        location /inner/ { internal; proxy_pass http://%BACK_END%; }
        location /inner/api/ { internal; rewrite ^/inner/api/(.*) /v1/$1; }
        location /inner/left/ { internal; rewrite ^ /left last; }
        location = /left { internal; petstore_guard off; return 200 "left"; }
        location /inner/file/ { internal; root %DIR%; }
        location /inner/open/ {
            internal;
            petstore_guard off;
            proxy_pass http://%BACK_END%;
        }
        location /pages/ { root %DIR%; })";
    GuardedStore shop(options, "", redirecting);
    auto& store = shop.store;
    make_page(store, "index.html", "index");
    long long left = 1'000'000;

    for (const auto& [path, body] : {std::pair("/outer/a", "GET /inner/a"),
                                     {"/outer/open/a", "GET /inner/open/a"},
                                     {"/outer/api/pets", "[]"},
                                     {"/outer/left/a", "left"},
                                     {"/pages/", "index"}}) {
        INFO(path);
        const auto response = store.http.get(path);
        CHECK(response.status == 200);
        CHECK(response.body == body);
        CHECK(rate_headers_of(response).remaining == --left);
        CHECK(1'000'000 - shop.charged() == left);
    }
    // Errors generated by nginx, after the guard and before it.
    expect_error(store.http.get("/outer/file/none"), 404, "not_found");
    CHECK(1'000'000 - shop.charged() == left - 1);
    expect_error(store.http.get("/inner/a"), 404, "not_found");
    CHECK(1'000'000 - shop.charged() == left - 1);
}

TEST_CASE("guard: the rate headers have the form of the first location")
{
    NginxOptions options;
    options.server = R"(
        location /first/ {
            petstore_guard on;
            petstore_limit_headers windows;
            try_files /none /shop/;
        }
        location /second/ {
            petstore_guard on;
            petstore_limit_headers windows;
            try_files /none /first/;
        }
        location /plain/ {
            petstore_guard on;
            try_files /none /first/;
        })";
    GuardedStore shop(options);
    CHECK(shop.http.get("/first/").has("x-ratelimit-limit-minute"));
    CHECK(shop.http.get("/second/").has("x-ratelimit-limit-minute"));
    CHECK_FALSE(shop.http.get("/plain/").has("x-ratelimit-limit-minute"));
    CHECK_FALSE(shop.http.get("/shop/").has("x-ratelimit-limit-minute"));
}

TEST_CASE("guard: the scope is that of the client's method")
{
    NginxOptions options;
    options.server = R"(
        petstore_guard on;
        location /outer/ { proxy_pass http://%BACK_END%; }
        location /inner/ { internal; proxy_pass http://%BACK_END%; }
        location /checked/ {
            petstore_guard off;
            auth_request /check;
            proxy_pass http://%BACK_END%;
        }
        location = /check { internal; empty_gif; })";
    GuardedStore shop(options, "", redirecting);
    auto& http = shop.http;
    auto& redis = shop.store.redis;

    // nginx continues with GET.
    http.use_key(create_key(redis, {"--scopes", "write"}).secret);
    const auto redirected = http.post("/outer/a", "x");
    CHECK(redirected.status == 200);
    CHECK(redirected.body == "GET /inner/a");
    CHECK(http.post("/checked/", "x").status == 200);
    CHECK(http.get("/checked/").status == 403);

    http.use_key(create_key(redis, {"--scopes", "read"}).secret);
    CHECK(http.post("/checked/", "x").status == 403);
    CHECK(http.get("/checked/").status == 200);
}

TEST_CASE("guard: no redirect hides the client's method")
{
    NginxOptions options;
    options.tls = true;
    options.server = R"(
        location /outer/ { proxy_pass http://%BACK_END%; }
        location /inner/ {
            internal;
            petstore_guard on;
            proxy_pass http://%BACK_END%;
        }
        location = /missing { error_page 404 = /inner/page; return 404; }
        location = /named { error_page 404 = @named; return 404; }
        location @named {
            petstore_guard on;
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options, "", redirecting);
    auto& redis = shop.store.redis;
    const auto reads = create_key(redis, {"--scopes", "read"}).secret;
    const auto writes = create_key(redis, {"--scopes", "write"}).secret;
    Http http2(shop.store.nginx.tls_url());
    http2.use_http2();

    for (auto* http : {&shop.http, &http2}) {
        for (const std::string path : {"/outer/a", "/missing", "/named"}) {
            INFO(path);
            for (const std::string method :
                 {"GET", "OPTIONS", "POST", "DELETE", "PROPFIND"}) {
                const bool safe = method == "GET" || method == "OPTIONS";
                const auto send = [&](const std::string& key) {
                    http->use_key(key);
                    return http->request(method, path);
                };
                CHECK(send(safe ? reads : writes).status == 200);
                const auto reached = shop.back_end.count();
                expect_error(send(safe ? writes : reads), 403,
                             "insufficient_scope");
                // The unguarded location in front of it at most.
                CHECK(shop.back_end.count()
                      == reached + (path == "/outer/a" ? 1 : 0));
            }
        }
    }
}

TEST_CASE("guard: each guarded location of a request checks the scope")
{
    NginxOptions options;
    options.server = R"(
        petstore_guard on;
        location /outer/ { proxy_pass http://%BACK_END%; }
        location /inner/ { internal; proxy_pass http://%BACK_END%; })";
    GuardedStore shop(options, "", redirecting);
    auto& http = shop.http;
    http.use_key(create_key(shop.store.redis, {"--scopes", "read"}).secret);
    CHECK(http.get("/outer/a").status == 200);
    expect_error(http.post("/outer/a", "x"), 403, "insufficient_scope");
    CHECK(shop.back_end.count() == 2);
}

TEST_CASE("guard: subrequests are charged once, and have the identity")
{
    NginxOptions options;
    options.server = R"(
        petstore_guard on;
        location /part/ { proxy_pass http://%BACK_END%; }
        location /pages/ { root %DIR%; ssi on; }
        location /open/ {
            petstore_guard off;
            alias %DIR%/pages/;
            ssi on;
        }
        location /added/ {
            proxy_pass http://%BACK_END%/page;
            add_before_body /part/before;
            add_after_body /part/after;
        }
        location /sliced/ {
            slice 4;
            proxy_set_header Range $slice_range;
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options, "", [](const BackEnd::Request& request) {
        if (!request.has("range")) {
            return Response{200, "1.1", {{"Content-Type", "text/html"}}, "+"};
        }
        const auto range = request.header("range");
        const auto from = std::atoi(range.c_str() + 6);
        const std::string body = "0123456789";
        const auto part = body.substr(static_cast<std::size_t>(from), 4);
        return Response{206,
                        "1.1",
                        {{"Content-Range",
                          "bytes " + std::to_string(from) + "-"
                              + std::to_string(from + part.size() - 1) + "/10"},
                         {"ETag", "\"one\""}},
                        part};
    });
    auto& store = shop.store;
    const std::string include = "<!--# include virtual=\"/part/x\" -->";
    make_page(store, "page.html", "a" + include + include + include + "b");

    for (const auto& [path, body] : {std::pair("/pages/page.html", "a+++b"),
                                     {"/open/page.html", "a+++b"},
                                     {"/added/", "+++"},
                                     {"/sliced/", "0123456789"}}) {
        INFO(path);
        const auto key = create_key(store.redis);
        store.http.use_key(key.secret);
        const auto before = shop.back_end.count();
        const auto response =
            store.http.get(path, {{"X-Account", "root"}, {"X-Plan", "gold"}});
        CHECK(response.status == 200);
        CHECK(response.body == body);
        CHECK(used(store.redis, key, "minute") == 1);
        if (path != std::string("/open/page.html")) {
            CHECK(rate_headers_of(response).remaining == 999'999);
        }
        // Each part, slices included, has the identity and no key.
        const auto requests = shop.back_end.requests();
        CHECK(requests.size() == before + 3);
        for (auto i = before; i < requests.size(); ++i) {
            INFO(requests[i].target << " " << requests[i].header("range"));
            CHECK(requests[i].has("range")
                  == (path == std::string("/sliced/")));
            CHECK(requests[i].header("x-account") == key.account);
            CHECK(requests[i].header("x-key-id") == key.id);
            CHECK(requests[i].header("x-plan") != "gold");
            CHECK_FALSE(requests[i].has("authorization"));
        }
    }
    // The first request with a key waits for Redis; its parts share one
    // decision.
    const auto reached = shop.back_end.count();
    const auto refused = store.http.get("/open/page.html", kNoKey);
    CHECK(refused.status == 200);
    CHECK_FALSE(refused.has("x-ratelimit-limit"));
    CHECK(count_of(refused.body, "401") > 0);
    CHECK(shop.back_end.count() == reached);
}

TEST_CASE("guard: auth_request asks a guarded location")
{
    NginxOptions options;
    options.server = R"(
        location = /check {
            internal;
            petstore_guard on;
            proxy_pass http://%BACK_END%;
        }
        location /asking/ {
            auth_request /check;
            auth_request_set $account $petstore_account;
            proxy_set_header X-Account $account;
            proxy_pass http://%BACK_END%;
        }
        location /both/ {
            petstore_guard on;
            auth_request /check;
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options);
    auto& store = shop.store;
    CHECK(store.http.get("/asking/").status == 200);
    CHECK(shop.back_end.last().header("x-account") == store.key.account);
    CHECK(shop.charged() == 1);
    const auto both = store.http.get("/both/");
    CHECK(both.status == 200);
    CHECK(rate_headers_of(both).remaining == 999'998);
    CHECK(shop.charged() == 2);
    CHECK(shop.back_end.count() == 4);

    const auto refused = store.http.get("/asking/", kUnknownKey);
    CHECK(refused.status == 401);
    CHECK(refused.header("www-authenticate")
          == "Bearer realm=\"petstore\", error=\"invalid_token\"");
    expect_error(store.http.get("/both/", kUnknownKey), 401, "unauthorized");
    // auth_request accepts no refusal but 401 and 403.
    store.http.use_key(limited_key(store.redis, 1).secret);
    CHECK(store.http.get("/asking/").status == 200);
    CHECK(store.http.get("/asking/").status == 500);
    CHECK(shop.back_end.count() == 6);
}

TEST_CASE("guard: requests that nginx refuses before it are not charged")
{
    NginxOptions options;
    options.http = "limit_req_zone $http_x_slow zone=slow:1m rate=1r/m;";
    options.server = R"(
        petstore_guard on;
        location /denied/ { deny all; proxy_pass http://%BACK_END%; }
        location /basic/ {
            auth_basic staff;
            auth_basic_user_file %DIR%/nobody;
            proxy_pass http://%BACK_END%;
        }
        location /slow/ {
            limit_req zone=slow;
            limit_req_status 429;
            proxy_pass http://%BACK_END%;
        }
        location /small/ {
            client_max_body_size 10;
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options);
    auto& store = shop.store;
    write_file(store.nginx.path("nobody"), "nobody:x\n");
    auto& http = store.http;

    const auto denied = http.get("/denied/");
    expect_error(denied, 403, "forbidden");
    // The key was not checked, so the headers describe the address's window.
    CHECK(rate_headers_of(denied).limit == 60);
    CHECK(rate_headers_of(denied).remaining == 60);
    const auto basic = http.get("/basic/");
    expect_error(basic, 401, "unauthorized");
    CHECK(basic.all("www-authenticate") == Values{"Basic realm=\"staff\""});
    expect_error(http.post("/small/", std::string(11, 'x')), 413,
                 "payload_too_large");
    CHECK(shop.charged() == 0);
    CHECK(http.get("/slow/", {{"X-Slow", "a"}}).status == 200);
    const auto slow = http.get("/slow/", {{"X-Slow", "a"}});
    expect_error(slow, 429, "too_many_requests");
    CHECK(slow.header("retry-after") == "1");
    CHECK(shop.charged() == 1);
    CHECK(shop.back_end.count() == 1);

    // The length of a chunked body is unknown until it is read.
    expect_error(http.send({"POST", "/small/", {}, std::string(11, 'x'), true}),
                 413, "payload_too_large");
    CHECK(shop.charged() == 2);
    CHECK(shop.back_end.count() == 1);
}

TEST_CASE("guard: error pages elsewhere for what nginx refuses before it")
{
    NginxOptions options;
    options.http = "limit_req_zone $http_x_slow zone=slow:1m rate=1r/m;";
    options.location =
        "petstore_anonymous_limit 30; limit_req zone=slow; error_page 503 /busy;";
    options.server = R"(
        location = /status { petstore_status; }
        location = /plain { return 200 "plain"; }
        location = /busy { return 200 "busy"; }
        location = /page.html { root %DIR%/pages; }
        location /denied/ {
            petstore_guard on;
            petstore_anonymous_limit 20;
            deny all;
            error_page 403 /page.html;
            proxy_pass http://%BACK_END%;
        }
        location /missing/ {
            petstore_guard on;
            deny all;
            error_page 403 /none.html;
            proxy_pass http://%BACK_END%;
        }
        location @named { return 403 "named"; }
        location /named/ {
            petstore_guard on;
            deny all;
            error_page 403 = @named;
            proxy_pass http://%BACK_END%;
        }
        location /nested/ {
            petstore_guard on;
            recursive_error_pages on;
            deny all;
            error_page 403 = /plain;
            proxy_pass http://%BACK_END%;
        }
        location = /live { petstore_health live; }
        location /health/ {
            petstore_guard on;
            deny all;
            error_page 403 /live;
            proxy_pass http://%BACK_END%;
        }
        location /small { client_max_body_size 1; return 200 "small"; }
        location /tiny {
            client_max_body_size 1;
            error_page 413 /plain;
            return 200 "tiny";
        }
        location /left/ {
            petstore_guard on;
            if ($arg_small) { rewrite ^ /small last; }
            if ($arg_tiny) { rewrite ^ /tiny last; }
            rewrite ^ /plain last;
        })";
    GuardedStore shop(options);
    make_page(shop.store, "page.html", "page");
    auto& http = shop.http;

    const auto denied = http.get("/denied/");
    CHECK(denied.status == 403);
    CHECK(denied.body == "page");
    CHECK(rate_headers_of(denied).limit == 20);
    expect_error(http.get("/missing/"), 404, "not_found");
    const Headers slow = {{"X-Slow", "a"}};
    CHECK(http.get("/v1/pets", slow).status == 200);
    const auto busy = http.get("/v1/pets", slow);
    CHECK(busy.status == 503);
    CHECK(busy.body == "busy");
    CHECK(rate_headers_of(busy).limit == 30);

    const auto named = http.get("/named/");
    CHECK(named.status == 403);
    CHECK(named.body == "named");
    rate_headers_of(named);
    const auto nested = http.get("/nested/");
    CHECK(nested.status == 200);
    CHECK(nested.body == "plain");
    rate_headers_of(nested);
    // A page without a body.
    const auto health = http.get("/health/");
    CHECK(health.status == 403);
    CHECK(health.body.empty());
    CHECK(health.header("content-length") == "0");
    CHECK(http.head("/health/").header("content-length") == "0");
    rate_headers_of(health);

    const auto left = http.get("/left/");
    CHECK(left.status == 200);
    CHECK(left.body == "plain");
    CHECK_FALSE(left.has("x-ratelimit-limit"));
    const auto large = http.post("/left/?small=1", "xx");
    CHECK(large.status == 413);
    CHECK(large.header("content-type") == "text/html");
    CHECK_FALSE(large.has("x-ratelimit-limit"));
    const auto page = http.post("/left/?tiny=1", "xx");
    CHECK(page.status == 413);
    CHECK(page.body == "plain");
    CHECK_FALSE(page.has("x-ratelimit-limit"));

    const auto text = Http(shop.store.nginx.url()).get("/status").body;
    for (const auto& [status, count] :
         {std::pair(200, 1), std::pair(403, 4), std::pair(404, 1),
          std::pair(413, 0), std::pair(503, 1)}) {
        // The last one is of the API.
        const std::string operation = status == 503 ? "other" : "guard";
        const auto sample = "\npetstore_requests_total{operation=\"" + operation
                            + "\",status=\"" + std::to_string(status) + "\"} "
                            + std::to_string(count) + "\n";
        INFO(sample);
        CHECK(contains(text, sample) == (count > 0));
    }
    CHECK(shop.back_end.count() == 0);
}

TEST_CASE("guard: satisfy any does not bypass it")
{
    NginxOptions options;
    options.server = R"(
        location /any/ {
            satisfy any;
            allow all;
            auth_basic staff;
            auth_basic_user_file %DIR%/nobody;
            petstore_guard on;
            proxy_pass http://%BACK_END%;
        })";
    GuardedStore shop(options);
    write_file(shop.store.nginx.path("nobody"), "nobody:x\n");
    expect_guarded(shop.store, "/any/", 200);
    const auto refused = shop.http.get("/any/", kNoKey);
    CHECK(refused.all("www-authenticate")
          == Values{"Bearer realm=\"petstore\""});
    CHECK(shop.back_end.count() == 1);
}

TEST_CASE("guard: satisfy any of its server does not bypass it")
{
    const std::string both = "satisfy any; allow all;";
    NginxOptions options;
    options.server = "petstore_guard on; root %DIR%/pages;";
    SECTION("set there")
    {
        options.server += both;
    }
    SECTION("inherited")
    {
        options.http = both;
    }
    GuardedStore shop(options);
    make_page(shop.store, "page.html", "page");
    expect_guarded(shop.store, "/page.html", 200);
}

TEST_CASE("guard: it includes what matches no location of its server")
{
    NginxOptions options;
    options.server = R"(
        petstore_guard on;
        root %DIR%/pages;
        rewrite ^/bare$ bare;)";
    {
        GuardedStore shop(options);
        make_page(shop.store, "page.html", "page");
        expect_guarded(shop.store, "/page.html", 200);
        expect_error(shop.http.get("/bare", kNoKey), 401, "missing_api_key");
        CHECK(shop.http.get("/bare").status == 404);
    }
    // The server itself needs no Redis then.
    options.server += "location / { petstore_guard off; }";
    GuardedStore shop(options);
    make_page(shop.store, "page.html", "page");
    CHECK(shop.http.get("/page.html", kNoKey).body == "page");
    expect_error(shop.http.get("/bare"), 500, "internal_error");
    CHECK(contains(
        shop.store.nginx.error_log(),
        "petstore: \"bare\" matches no location of a guarded server, and "
        "\"location /\" every path: the request is refused"));
    CHECK(shop.charged() == 0);
}

TEST_CASE("guard: return and rewrite answer before it")
{
    NginxOptions options;
    options.server = R"(
        petstore_guard on;
        location /text/ { return 200 "text"; }
        location /moved/ { return 301 /elsewhere; }
        location /failed/ { return 404; }
        location /redirected/ { rewrite ^ /text/ redirect; }
        location /rewritten/ { rewrite ^ /shop/rewritten; })";
    GuardedStore shop(options);
    auto& http = shop.http;
    const auto text = http.get("/text/", kNoKey);
    CHECK(text.status == 200);
    CHECK(text.body == "text");
    CHECK(rate_headers_of(text).limit == 60);
    CHECK(http.get("/moved/", kNoKey).status == 301);
    CHECK(http.get("/redirected/", kNoKey).status == 302);
    expect_error(http.get("/failed/", kNoKey), 404, "not_found");
    CHECK(shop.charged() == 0);

    // A location reached by rewrite is guarded like any other.
    expect_guarded(shop.store, "/rewritten/", 200);
    CHECK(shop.back_end.last().target == "/shop/rewritten");
}
