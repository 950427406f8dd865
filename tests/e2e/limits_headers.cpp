// SPEC 3: what every answer tells of the limits.
#include <ctime>

#include "support/store.h"

using namespace petstore::e2e;

namespace {

const char* const kPet = "{\"name\":\"Rex\",\"categoryId\":7}";

long long now() { return static_cast<long long>(std::time(nullptr)); }

Http client(const Store& store, std::vector<std::string> plan)
{
    return Http(store.nginx.url(), create_key(store.redis, std::move(plan)).secret);
}

}  // namespace

TEST_CASE("limit headers: count down from the plan and keep their reset")
{
    Store store;
    const std::vector<std::pair<std::string, long long>> plans = {
        {"free", 60}, {"pro", 300}, {"business", 1000}};
    for (const auto& [plan, limit] : plans) {
        INFO(plan);
        auto http = client(store, {"--plan", plan});
        const auto before = now();
        const auto first = rate_headers_of(http.get("/v1/pets"));
        const auto after = now();
        CHECK(first.limit == limit);
        CHECK(first.remaining == limit - 1);
        CHECK(first.reset >= before + 60);
        CHECK(first.reset <= after + 61);
        for (long long i = 2; i <= 10; ++i) {
            const auto rate = rate_headers_of(http.get("/v1/pets"));
            CHECK(rate.limit == limit);
            CHECK(rate.remaining == limit - i);
            CHECK(rate.reset == first.reset);
        }
    }
}

TEST_CASE("limit headers: describe the window with the fewest requests left")
{
    Store store;
    auto day = client(store, {"--plan", "enterprise", "--per-minute", "10",
                              "--per-day", "5"});
    const auto of_day = rate_headers_of(day.get("/v1/pets"));
    CHECK(of_day.limit == 5);
    CHECK(of_day.remaining == 4);
    CHECK(of_day.reset >= now() + 86395);

    // On a tie, the one that resets later.
    auto tie = client(store, {"--plan", "enterprise", "--per-minute", "7",
                              "--per-day", "7"});
    const auto of_tie = rate_headers_of(tie.get("/v1/pets"));
    CHECK(of_tie.limit == 7);
    CHECK(of_tie.remaining == 6);
    CHECK(of_tie.reset >= now() + 86395);

    auto minute = client(store, {"--plan", "enterprise", "--per-minute", "5",
                                 "--per-day", "10"});
    const auto of_minute = rate_headers_of(minute.get("/v1/pets"));
    CHECK(of_minute.limit == 5);
    CHECK(of_minute.reset <= now() + 61);
}

TEST_CASE("limit headers: every request with a valid key is charged once whatever comes of it")
{
    NginxOptions options;
    options.server = R"(
        location = /inside { rewrite ^ /v1/pets last; }
        location = /twice { rewrite ^ /inside last; }
        location = /with-subrequest {
            auth_request /v1/pets;
            rewrite ^ /v1/pets/1 last;
        })";
    options.location = "if ($arg_fail) { return 418; }";
    Store store(options);
    import_pets(store.redis, 1);
    auto http = client(store, {"--plan", "free"});
    long long used = 0;
    const auto charged = [&](const Response& response) {
        CHECK(rate_headers_of(response).remaining == 60 - ++used);
        return response.status;
    };
    CHECK(charged(http.get("/v1/pets")) == 200);
    CHECK(charged(http.get("/v1/pets/1")) == 200);
    CHECK(charged(http.head("/v1/pets/1")) == 200);
    CHECK(charged(http.post("/v1/pets", kPet)) == 201);
    CHECK(charged(http.post("/v1/pets", kPet, {{"Idempotency-Key", "k"}})) == 201);
    CHECK(charged(http.post("/v1/pets", kPet, {{"Idempotency-Key", "k"}})) == 201);
    CHECK(charged(http.post("/v1/pets", "{\"name\":\"x\",\"categoryId\":7}",
                            {{"Idempotency-Key", "k"}}))
          == 422);
    CHECK(charged(http.get("/v1/pets/99")) == 404);
    CHECK(charged(http.get("/v1/nowhere")) == 404);
    CHECK(charged(http.get("/v1/pets?limit=x")) == 400);
    CHECK(charged(http.post("/v1/pets", "{")) == 400);
    CHECK(charged(http.post("/v1/pets", kPet, {{"Content-Type", "text/plain"}}))
          == 415);
    CHECK(charged(http.post("/v1/pets", std::string(20000, 'x'))) == 413);
    CHECK(charged(http.request("DELETE", "/v1/pets")) == 405);
    // Once per request, however nginx sends it around inside.
    CHECK(charged(http.get("/inside")) == 200);
    CHECK(charged(http.get("/twice")) == 200);
    CHECK(charged(http.get("/with-subrequest")) == 200);
    // Not charged.
    CHECK(http.request("OPTIONS", "/v1/pets").status == 204);
    CHECK(http.get("/v1/pets", {{"Authorization", "Bearer wrong"}}).status == 401);
    CHECK(charged(http.get("/v1/pets")) == 200);
}

TEST_CASE("limit headers: are on every class of answer")
{
    NginxOptions options;
    options.http = "large_client_header_buffers 2 1k; client_header_buffer_size 1k;";
    options.server = "petstore_json_errors on;";
    options.location = R"(
        if ($arg_fail = "500") { return 500; }
        if ($arg_fail = "502") { return 502; }
        if ($arg_fail = "504") { return 504; }
        petstore_redis_timeout 300ms;)";
    options.servers = R"(server { listen 127.0.0.1:%TLS_PORT%;
        location /v1/ { petstore; petstore_get_sunset 2020-01-01; } })";
    Store store(options);
    import_pets(store.redis, 1);
    auto& http = store.http;
    Http anyone(store.nginx.url());
    const auto denied = create_key(store.redis, {"--plan", "enterprise",
                                                 "--per-minute", "1", "--per-day",
                                                 "100"});
    const auto reader = create_key(store.redis, {"--plan", "pro", "--scopes", "read"});

    const auto expect = [](const Response& response, int status) {
        INFO(response.body);
        CHECK(response.status == status);
        rate_headers_of(response);
    };
    expect(http.get("/v1/pets"), 200);
    expect(http.post("/v1/pets", kPet), 201);
    expect(anyone.request("OPTIONS", "/v1/pets"), 204);
    expect(http.get("/v1/pets?limit=0"), 400);
    expect(anyone.get("/v1/pets"), 401);
    expect(anyone.get("/v1/pets", {{"Authorization", "Bearer x"}}), 401);
    expect(Http(store.nginx.url(), reader.secret).post("/v1/pets", kPet), 403);
    expect(http.get("/v1/pets/77"), 404);
    expect(http.get("/v1/nowhere"), 404);
    expect(http.request("DELETE", "/v1/pets"), 405);
    expect(Http("http://127.0.0.1:" + std::to_string(store.nginx.tls_port()),
                store.key.secret)
               .get("/v1/pets/1"),
           410);
    expect(http.post("/v1/pets", std::string(20000, 'x')), 413);
    expect(http.get("/v1/pets?" + std::string(3000, 'x')), 414);
    expect(http.post("/v1/pets", kPet, {{"Content-Type", "text/plain"}}), 415);
    expect(http.post("/v1/pets", kPet, {{"Idempotency-Key", "k"}}), 201);
    expect(http.post("/v1/pets", "{\"name\":\"b\",\"categoryId\":7}",
                     {{"Idempotency-Key", "k"}}),
           422);
    Http limited(store.nginx.url(), denied.secret);
    expect(limited.get("/v1/pets"), 200);
    expect(limited.get("/v1/pets"), 429);
    expect(http.get("/v1/pets?fail=500"), 500);
    expect(http.get("/v1/pets?fail=502"), 502);
    expect(http.get("/v1/pets?fail=504"), 504);
    expect(http.get("/outside"), 404);
    RawClient raw(store.nginx.port());
    raw.send("NONSENSE\r\n\r\n");
    expect(raw.read(), 400);
    expect(http.head("/v1/pets"), 200);
    expect(anyone.head("/v1/pets"), 401);
    store.redis.stop();
    expect(http.get("/v1/pets"), 503);
    expect(http.post("/v1/pets", kPet), 503);
    expect(http.get("/v1/pets", {{"Authorization", "Bearer unknown-imported"}}), 503);
    expect(anyone.get("/v1/pets"), 401);
}

TEST_CASE("limit headers: while Redis is away the last values of the key are told")
{
    Store store;
    const auto key = create_key(store.redis, {"--plan", "pro"});
    const auto fresh = create_key(store.redis, {"--plan", "pro"});
    Http http(store.nginx.url(), key.secret);
    http.get("/v1/pets");
    const auto last = rate_headers_of(http.get("/v1/pets"));
    CHECK(last.remaining == 298);
    store.redis.stop();
    for (int i = 0; i < 3; ++i) {
        const auto response = http.get("/v1/pets");
        expect_error(response, 503, "service_unavailable");
        const auto rate = rate_headers_of(response);
        CHECK(rate.limit == 300);
        CHECK(rate.remaining == 298);
        CHECK(rate.reset == last.reset);
    }
    // Of a key never seen nothing is known: the plan free with none left.
    const auto response = Http(store.nginx.url(), fresh.secret).get("/v1/pets");
    expect_error(response, 503, "service_unavailable");
    CHECK(rate_headers_of(response).limit == 60);
    CHECK(rate_headers_of(response).remaining == 0);
}

TEST_CASE("limit headers: without a valid key the window of the address")
{
    NginxOptions options;
    options.workers = 2;
    options.http = "set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;";
    Store store(options);
    const auto ask = [&](const std::string& address, bool preflight = false) {
        Http http(store.nginx.url());  // another connection, any worker
        return http.send({preflight ? "OPTIONS" : "GET", "/v1/pets",
                          {{"X-Real-IP", address}}});
    };
    const auto first = rate_headers_of(ask("192.0.2.1"));
    CHECK(first.limit == 60);
    CHECK(first.remaining == 59);
    CHECK(first.reset >= now() + 58);
    CHECK(first.reset <= now() + 61);
    // A preflight tells, and costs nothing.
    CHECK(rate_headers_of(ask("192.0.2.1", true)).remaining == 59);
    CHECK(rate_headers_of(ask("192.0.2.2")).remaining == 59);
    // A customer has a /64.
    CHECK(rate_headers_of(ask("2001:db8:1:1::1")).remaining == 59);
    CHECK(rate_headers_of(ask("2001:db8:1:1:ffff::2")).remaining == 58);
    CHECK(rate_headers_of(ask("2001:db8:1:2::1")).remaining == 59);
    // Reported only: nobody is refused.
    for (int i = 2; i <= 70; ++i) {
        const auto response = ask("192.0.2.1");
        CHECK(response.status == 401);
        const auto rate = rate_headers_of(response);
        CHECK(rate.remaining == (i < 60 ? 60 - i : 0));
        CHECK(rate.reset == first.reset);
    }
    // A valid key does not care.
    CHECK(store.http.get("/v1/pets", {{"X-Real-IP", "192.0.2.1"}}).status == 200);
}

TEST_CASE("limit headers: the window of the address can be enforced")
{
    NginxOptions options;
    options.workers = 2;
    options.location = "petstore_anonymous_limit 5 enforce;";
    Store store(options);
    for (int i = 1; i <= 5; ++i) {
        const auto response = Http(store.nginx.url()).get("/v1/pets");
        expect_error(response, 401, "missing_api_key");
        CHECK(rate_headers_of(response).limit == 5);
        CHECK(rate_headers_of(response).remaining == 5 - i);
    }
    for (int i = 0; i < 5; ++i) {
        const auto response = Http(store.nginx.url()).get(
            "/v1/pets", {{"Authorization", "Bearer guess" + std::to_string(i)}});
        expect_error(response, 429, "rate_limit_exceeded");
        CHECK(rate_headers_of(response).remaining == 0);
        const auto wait = std::atoll(response.header("retry-after").c_str());
        CHECK(wait >= 1);
        CHECK(wait <= 61);
    }
    CHECK(store.http.get("/v1/pets").status == 200);
}

TEST_CASE("limit headers: further forms of them")
{
    NginxOptions options;
    options.location = "petstore_limit_headers windows;";
    options.servers = R"(server { listen 127.0.0.1:%TLS_PORT%;
        location /v1/ { petstore; petstore_limit_headers ietf; } })";
    Store store(options);
    const auto key = create_key(store.redis, {"--plan", "free"});
    Http windows(store.nginx.url(), key.secret);
    auto response = windows.get("/v1/pets");
    CHECK(rate_headers_of(response).remaining == 59);
    CHECK(response.header("x-ratelimit-limit-minute") == "60");
    CHECK(response.header("x-ratelimit-remaining-minute") == "59");
    CHECK(response.header("x-ratelimit-limit-day") == "1000");
    CHECK(response.header("x-ratelimit-remaining-day") == "999");
    CHECK(std::atoll(response.header("x-ratelimit-reset-day").c_str())
          >= now() + 86395);

    Http ietf("http://127.0.0.1:" + std::to_string(store.nginx.tls_port()),
              key.secret);
    response = ietf.get("/v1/pets");
    CHECK(rate_headers_of(response).remaining == 58);
    CHECK(response.header("ratelimit-policy")
          == "\"minute\";q=60;w=60, \"day\";q=1000;w=86400");
    const auto value = response.header("ratelimit");
    CHECK(contains(value, "\"minute\";r=58;t="));
    CHECK(contains(value, "\"day\";r=998;t=86"));
    // Seconds to go, not a time of day.
    CHECK(std::atoll(value.c_str() + value.find("t=") + 2) <= 61);
    CHECK(std::atoll(value.c_str() + value.rfind("t=") + 2) <= 86401);
}
