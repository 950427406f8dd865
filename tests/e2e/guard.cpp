// docs/guard.md: which requests pass, the responses to the others, and what
// happens to the back end's responses.
#include <sys/stat.h>

#include "support/guarded_store.h"

using namespace petstore::e2e;

namespace {

using Values = std::vector<std::string>;

// Responds with the status in the request's target: /shop/STATUS.
Response status_of_target(const BackEnd::Request& request)
{
    const auto status = std::atoi(request.target.c_str() + 6);
    return {status,
            "1.1",
            {{"Content-Type", "application/problem+json"},
             {"Retry-After", "77"},
             {"WWW-Authenticate", "Digest realm=\"shop\""},
             {"X-Own", "kept"}},
            "of the back end: " + std::to_string(status)};
}

// Rate headers sent by the back end, in every form.
Response limits_of_its_own(const BackEnd::Request&)
{
    return {200,
            "1.1",
            {{"X-RateLimit-Limit", "1"},
             {"x-ratelimit-limit", "2"},
             {"X-RATELIMIT-REMAINING", "3"},
             {"X-RateLimit-Reset", "4"},
             {"X-RateLimit-Limit-Minute", "5"},
             {"X-RateLimit-Reset-Day", "6"},
             {"X-RateLimit-Remaining-Month", "14"},
             {"RateLimit", "\"own\";r=7;t=8"},
             {"RateLimit-Policy", "\"own\";q=9;w=10"},
             {"RateLimit-Limit", "11"},
             {"RateLimit-Remaining", "12"},
             {"RateLimit-Reset", "13"},
             {"X-RateLimit-Resource", "core"}},
            "fine"};
}

}  // namespace

TEST_CASE("guard: a request with a valid key passes unchanged")
{
    GuardedStore shop({}, "", [](const BackEnd::Request&) {
        return Response{202,
                        "1.1",
                        {{"Content-Type", "text/plain"},
                         {"Cache-Control", "public, max-age=60"},
                         {"ETag", "\"abc\""},
                         {"Link", "</next>; rel=\"next\""},
                         {"Set-Cookie", "a=1"},
                         {"Set-Cookie", "b=2"}},
                        "accepted"};
    });
    const auto response =
        shop.http.send({"POST",
                        "/shop/orders?limit=3&x=%20y",
                        {{"Content-Type", "text/csv"}, {"X-Mine", "1"}},
                        "a,b,c"});
    CHECK(response.status == 202);
    CHECK(response.body == "accepted");
    CHECK(response.header("content-type") == "text/plain");
    CHECK(response.header("cache-control") == "public, max-age=60");
    CHECK(response.header("etag") == "\"abc\"");
    CHECK(response.header("link") == "</next>; rel=\"next\"");
    CHECK(response.all("set-cookie") == Values{"a=1", "b=2"});
    const auto rate = rate_headers_of(response);
    CHECK(rate.limit == 1'000'000);
    CHECK(rate.remaining == 999'999);

    const auto reached = shop.back_end.last();
    CHECK(reached.method == "POST");
    CHECK(reached.target == "/shop/orders?limit=3&x=%20y");
    CHECK(reached.header("content-type") == "text/csv");
    CHECK(reached.header("x-mine") == "1");
    CHECK(reached.body == "a,b,c");
    CHECK(shop.back_end.count() == 1);
    CHECK(shop.charged() == 1);
}

TEST_CASE("guard: without a valid key the handler never runs")
{
    GuardedStore shop({}, "access_log off;");  // a key in the query
    auto& store = shop.store;
    const auto disabled = create_key(store.redis);
    REQUIRE(ctl(store.redis.url(), {"key", "disable", disabled.id}).code == 0);

    const char* const no_key = "Bearer realm=\"petstore\"";
    const char* const bad_key =
        "Bearer realm=\"petstore\", error=\"invalid_token\"";
    for (const std::string authorization :
         {"", "Basic dTpw", "Bearer", "Bearer  "}) {
        INFO(authorization);
        for (const char* method : {"GET", "POST", "DELETE", "OPTIONS"}) {
            const auto refused = store.http.send(
                {method, "/shop/", {{"Authorization", authorization}}});
            expect_error(refused, 401, "missing_api_key");
            CHECK(refused.all("www-authenticate") == Values{no_key});
        }
    }
    for (const std::string& secret :
         {std::string("no-such-key"), store.key.secret + "x",
          store.key.secret.substr(0, store.key.secret.size() - 1),
          disabled.secret, std::string(600, 'k')}) {
        INFO(secret.size());
        const auto refused =
            store.http.get("/shop/", {{"Authorization", "Bearer " + secret}});
        expect_error(refused, 401, "invalid_api_key");
        CHECK(refused.all("www-authenticate") == Values{bad_key});
    }
    expect_error(store.http.get("/shop/?api_key=" + store.key.secret, kNoKey),
                 401, "missing_api_key");
    const auto head = Http(store.nginx.url()).head("/shop/");
    CHECK(head.status == 401);
    CHECK(head.body.empty());
    rate_headers_of(head);

    CHECK(shop.back_end.count() == 0);
    CHECK(shop.charged() == 0);
    // The scheme is case-insensitive, and spaces are allowed.
    CHECK(
        store.http
            .get("/shop/", {{"Authorization", "bEARER   " + store.key.secret}})
            .status
        == 200);
}

TEST_CASE("guard: over the limit the handler never runs")
{
    GuardedStore shop;
    auto& store = shop.store;
    long long minute = 3;
    long long day = 100;
    std::string period = "minute";
    SECTION("minute") {}
    SECTION("day")
    {
        minute = 100;
        day = 3;
        period = "day";
    }
    const auto key = limited_key(store.redis, minute, day);
    store.http.use_key(key.secret);
    for (long long left = 2; left >= 0; --left) {
        const auto passed = store.http.post("/shop/", "{}");
        CHECK(passed.status == 200);
        CHECK(rate_headers_of(passed).limit == 3);
        CHECK(rate_headers_of(passed).remaining == left);
    }
    for (int i = 0; i < 5; ++i) {
        const auto before = redis_now(store.redis);
        const auto refused = store.http.post("/shop/", "{}");
        const auto message = expect_error(refused, 429, "rate_limit_exceeded");
        CHECK(contains(message, period));
        const auto rate = rate_headers_of(refused);
        CHECK(rate.limit == 3);
        CHECK(rate.remaining == 0);
        const auto retry = number(refused, "retry-after");
        CHECK(retry >= 1);
        CHECK(retry <= rate.reset - before);
        CHECK(retry >= rate.reset - redis_now(store.redis) - 1);
    }
    CHECK(shop.back_end.count() == 3);
    CHECK(used(store.redis, key, "minute") == 3);
    CHECK(used(store.redis, key, "day") == 3);
}

TEST_CASE("guard: denied requests lead to a ban, which holds for the API too")
{
    NginxOptions options;
    options.http = "petstore_ban threshold=5 window=60s duration=5m;";
    GuardedStore shop(options);
    auto& store = shop.store;
    const auto key = limited_key(store.redis, 2);
    store.http.use_key(key.secret);
    for (int i = 0; i < 2; ++i) {
        CHECK(store.http.get("/shop/").status == 200);
    }
    for (int i = 0; i < 5; ++i) {
        expect_error(store.http.get("/shop/"), 429, "rate_limit_exceeded");
    }
    for (const char* path : {"/shop/", "/v1/pets", "/shop/"}) {
        const auto banned = store.http.get(path);
        expect_error(banned, 429, "api_key_banned");
        CHECK(number(banned, "retry-after") > 290);
    }
    CHECK(shop.back_end.count() == 2);

    REQUIRE(ctl(store.redis.url(), {"key", "unban", key.id}).code == 0);
    end_in(store.redis, key, Number::minute_end, 0);
    CHECK(wait_until([&] { return store.http.get("/shop/").status == 200; }));
}

TEST_CASE("guard: one budget with the API and for all keys of an account")
{
    GuardedStore shop;
    auto& store = shop.store;
    const auto key = limited_key(store.redis, 6);
    const auto rotated = ctl(store.redis.url(), {"key", "rotate", key.id,
                                                 "--grace", "1h", "--json"});
    const std::string second =
        nlohmann::json::parse(rotated.out).at("key").get<std::string>();
    remember_secret(second);

    long long left = 6;
    for (int i = 0; i < 3; ++i) {
        store.http.use_key(i == 1 ? second : key.secret);
        for (const char* path : {"/shop/", "/v1/pets"}) {
            const auto response = store.http.get(path);
            CHECK(response.status == 200);
            CHECK(rate_headers_of(response).remaining == --left);
        }
    }
    for (const auto& secret : {key.secret, second}) {
        store.http.use_key(secret);
        for (const char* path : {"/shop/", "/v1/pets"}) {
            expect_error(store.http.get(path), 429, "rate_limit_exceeded");
        }
    }
    CHECK(shop.back_end.count() == 3);
}

TEST_CASE("guard: read and write scopes by method")
{
    GuardedStore shop;
    auto& store = shop.store;
    const auto reader = create_key(store.redis, {"--scopes", "read"});
    const auto writer = create_key(store.redis, {"--scopes", "write"});
    const Values reads = {"GET", "HEAD", "OPTIONS"};
    const Values writes = {"POST", "PUT", "PATCH", "DELETE"};
    for (const auto& [key, allowed, refused] :
         {std::tuple(reader, reads, writes),
          std::tuple(writer, writes, reads)}) {
        store.http.use_key(key.secret);
        for (const auto& method : allowed) {
            INFO(method);
            const auto before = shop.back_end.count();
            CHECK(store.http.request(method, "/shop/").status == 200);
            CHECK(shop.back_end.count() == before + 1);
            CHECK(shop.back_end.last().method == method);
        }
        for (const auto& method : refused) {
            INFO(method);
            const auto before = shop.back_end.count();
            const auto response = store.http.request(method, "/shop/");
            CHECK(response.status == 403);
            rate_headers_of(response);
            if (method != "HEAD") {
                expect_error(response, 403, "insufficient_scope");
            }
            CHECK(shop.back_end.count() == before);
        }
        // Still charged, as in the API.
        CHECK(used(store.redis, key, "minute") == 7);
    }
}

TEST_CASE("guard: a dry run lets requests over the limit through")
{
    NginxOptions options;
    options.http = "log_format status '$petstore_limit_status';";
    GuardedStore shop(
        options, "petstore_limit_dry_run on;access_log status.log status;");
    auto& store = shop.store;
    const auto key = limited_key(store.redis, 1);
    store.http.use_key(key.secret);
    for (int i = 0; i < 3; ++i) {
        CHECK(store.http.get("/shop/").status == 200);
    }
    CHECK(shop.back_end.count() == 3);
    CHECK(used(store.redis, key, "minute") == 1);
    CHECK(wait_until([&] {
        return read_file(store.nginx.path("status.log"))
               == "PASSED\nLIMITED_DRY_RUN\nLIMITED_DRY_RUN\n";
    }));
    CHECK(count_of(store.nginx.error_log(), "over its limit, dry run") == 2);
    expect_error(store.http.get("/shop/", kNoKey), 401, "missing_api_key");
}

TEST_CASE("guard: an enforced address limit turns 401 into 429")
{
    GuardedStore shop({}, "petstore_anonymous_limit 2 enforce;");
    for (int i = 0; i < 2; ++i) {
        expect_error(shop.http.get("/shop/", kUnknownKey), 401,
                     "invalid_api_key");
    }
    const auto limited = shop.http.get("/shop/", kNoKey);
    expect_error(limited, 429, "rate_limit_exceeded");
    CHECK(number(limited, "retry-after") >= 1);
    CHECK(shop.http.get("/shop/").status == 200);
    CHECK(shop.back_end.count() == 1);
}

TEST_CASE("guard: the rate headers replace those of the back end")
{
    std::string headers;
    std::size_t windows = 0;
    std::size_t ietf = 0;
    SECTION("standard") {}
    SECTION("windows")
    {
        headers = "petstore_limit_headers windows;";
        windows = 1;
    }
    SECTION("ietf")
    {
        headers = "petstore_limit_headers ietf;";
        ietf = 1;
    }
    GuardedStore shop({}, headers, limits_of_its_own);
    const auto response = shop.http.get("/shop/");
    CHECK(response.body == "fine");
    const auto rate = rate_headers_of(response);
    CHECK(rate.limit == 1'000'000);
    CHECK(rate.remaining == 999'999);
    for (const char* name :
         {"x-ratelimit-limit-minute", "x-ratelimit-remaining-minute",
          "x-ratelimit-reset-minute", "x-ratelimit-limit-day",
          "x-ratelimit-remaining-day", "x-ratelimit-reset-day"}) {
        INFO(name);
        CHECK(response.all(name).size() == windows);
    }
    CHECK(response.all("ratelimit").size() == ietf);
    CHECK(response.all("ratelimit-policy").size() == ietf);
    if (ietf != 0) {
        CHECK(response.header("ratelimit-policy")
              == "\"minute\";q=1000000;w=60, \"day\";q=100000000;w=86400");
        CHECK(contains(response.header("ratelimit"), "\"minute\";r=999999;t="));
    }
    for (const char* name :
         {"ratelimit-limit", "ratelimit-remaining", "ratelimit-reset"}) {
        CHECK_FALSE(response.has(name));
    }
    CHECK(response.header("x-ratelimit-resource") == "core");
}

TEST_CASE("guard: the back end's errors pass with their own bodies")
{
    GuardedStore shop({}, "", status_of_target);
    for (const int status : {200, 301, 400, 401, 403, 404, 405, 410, 418, 422,
                             429, 451, 500, 501, 502, 503, 504}) {
        INFO(status);
        const auto response = shop.http.get("/shop/" + std::to_string(status));
        CHECK(response.status == status);
        CHECK(response.body == "of the back end: " + std::to_string(status));
        CHECK(response.header("content-type") == "application/problem+json");
        CHECK(response.all("retry-after") == Values{"77"});
        CHECK(response.all("www-authenticate")
              == Values{"Digest realm=\"shop\""});
        CHECK(response.header("x-own") == "kept");
        CHECK_FALSE(response.has("cache-control"));
        CHECK(rate_headers_of(response).limit == 1'000'000);
    }
    for (const int status : {204, 304}) {
        const auto response = shop.http.get("/shop/" + std::to_string(status));
        CHECK(response.status == status);
        rate_headers_of(response);
    }
}

TEST_CASE("guard: nginx's own errors have the Error shape")
{
    NginxOptions options;
    const auto nobody = own_address() + ":" + std::to_string(free_port());
    options.server = R"(
        location /refused/ { petstore_guard on; proxy_pass http://)"
                     + nobody + R"(; }
        location /slow/ {
            petstore_guard on;
            proxy_read_timeout 10ms;
            proxy_pass http://%BACK_END%;
        }
        location /taken/ {
            petstore_guard on;
            proxy_intercept_errors on;
            proxy_pass http://%BACK_END%;
            error_page 418 /missing;
        }
        location = /missing { root %DIR%/none; }
        location /static/ { petstore_guard on; root %DIR%; })";
    GuardedStore shop(options, "", [](const BackEnd::Request&) {
        return Response{418, "1.1", {{"X-RateLimit-Limit", "7"}}, "tea"};
    });
    auto& http = shop.http;
    mkdir((shop.store.nginx.path("static")).c_str(), 0777);
    write_file(shop.store.nginx.path("static/a.txt"), "abc");

    expect_error(http.get("/refused/"), 502, "service_unavailable");
    shop.back_end.hold();
    expect_error(http.get("/slow/"), 504, "service_unavailable");
    shop.back_end.release();
    expect_error(http.get("/taken/"), 404, "not_found");
    expect_error(http.get("/static/none"), 404, "not_found");
    expect_error(http.post("/static/a.txt", "x"), 405, "method_not_allowed");
    expect_error(http.get("/static/a.txt", {{"If-Match", "\"x\""}}), 412,
                 "bad_request");
    const auto range = http.get("/static/a.txt", {{"Range", "bytes=9-"}});
    CHECK(range.status == 416);
    CHECK(range.json()["status"] == 416);
    CHECK(rate_headers_of(range).limit == 1'000'000);
    CHECK(shop.charged() == 7);
}

TEST_CASE("guard: locations without it are left alone")
{
    NginxOptions options;
    options.server = R"(
        location /open/ { proxy_pass http://%BACK_END%; }
        location /nothing/ { root %DIR%; })";
    GuardedStore shop(options, "", limits_of_its_own);
    const auto open = shop.http.get("/open/", kNoKey);
    CHECK(open.status == 200);
    CHECK(open.all("x-ratelimit-limit") == Values{"1", "2"});
    CHECK(open.header("ratelimit-limit") == "11");
    const auto nothing = shop.http.get("/nothing/x", kNoKey);
    CHECK(nothing.status == 404);
    CHECK(nothing.header("content-type") == "text/html");
    CHECK_FALSE(nothing.has("x-ratelimit-limit"));
    CHECK(shop.charged() == 0);
}
