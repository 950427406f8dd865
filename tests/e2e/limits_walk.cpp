// docs/limits.md, "Headers": every response has the three rate headers. Checks
// their values for every class of response.

#include "support/limits.h"

using namespace petstore::e2e;

namespace {

const char* const kPet = "{\"name\":\"Rex\",\"categoryId\":7}";
const long long kLimit = 1000;

// Tracks the expected rate headers of the next response, for the key's window
// and the address's.
struct Walk {
    explicit Walk(NginxOptions options)
        : store(std::move(options)), key(limited_key(store.redis, kLimit)),
          http(store.nginx.url(), key.secret), anyone(store.nginx.url())
    {}

    // Checks a response that reports the key's window and was charged once.
    Response charged(const Response& response, int status,
                     const std::string& code = "")
    {
        INFO("charged: " << status << " " << code << " " << response.body);
        const auto rate = check(response, status, code);
        CHECK(rate.limit == kLimit);
        CHECK(rate.remaining == --left);
        if (reset == 0) {
            reset = rate.reset;
        }
        CHECK(rate.reset == reset);
        CHECK_FALSE(response.has("retry-after"));
        return response;
    }

    // Checks a response that reports the address's window. `counts`: the
    // request had no valid key, so it was counted.
    Response anonymous(const Response& response, int status,
                       const std::string& code, bool counts)
    {
        INFO("anonymous: " << status << " " << code << " " << response.body);
        const auto rate = check(response, status, code);
        CHECK(rate.limit == 60);
        anonymous_left -= counts ? 1 : 0;
        CHECK(rate.remaining == anonymous_left);
        if (anonymous_reset == 0) {
            anonymous_reset = rate.reset;
            const auto now = unix_time();
            CHECK(rate.reset >= now + 59);
            CHECK(rate.reset <= now + 61);
        }
        CHECK(rate.reset == anonymous_reset);
        return response;
    }

    static RateHeaders check(const Response& response, int status,
                             const std::string& code)
    {
        if (status >= 400 && !response.body.empty()) {
            expect_error(response, status, code);
        }
        CHECK(response.status == status);
        CHECK(response.header("cache-control") == "no-store");
        return rate_headers_of(response);
    }

    // The response to bytes that no client library would send.
    Response raw(const std::string& bytes) const
    {
        RawClient client(store.nginx.port());
        client.send(bytes);
        return client.read();
    }

    std::string head(const std::string& line,
                     const std::string& more = "") const
    {
        return line + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
               + key.secret + "\r\n" + more + "\r\n";
    }

    Response post(const std::string& body, Headers headers = {})
    {
        return http.post("/v1/pets", body, std::move(headers));
    }

    Store store;
    Key key;
    Http http;
    Http anyone;
    long long left = kLimit;
    long long reset = 0;
    long long anonymous_left = 60;
    long long anonymous_reset = 0;
};

}  // namespace

TEST_CASE("limits walk: answers of the service with a valid key")
{
    NginxOptions options;
    options.server = R"(
        location /gone/v1/ { petstore /gone/v1; petstore_get_sunset 2020-01-01; }
        location /slow/v1/ { petstore /slow/v1; client_body_timeout 100ms; })";
    Walk walk(options);
    auto& http = walk.http;
    import_pets(walk.store.redis, 2);

    walk.charged(http.get("/v1/pets"), 200);
    walk.charged(http.get("/v1/pets/1"), 200);
    walk.charged(http.head("/v1/pets"), 200);
    walk.charged(walk.post(kPet), 201);
    walk.charged(walk.post(kPet, {{"Idempotency-Key", "k"}}), 201);
    walk.charged(walk.post(kPet, {{"Idempotency-Key", "k"}}), 201);

    walk.charged(walk.post("{"), 400, "invalid_json");
    walk.charged(walk.post(""), 400, "missing_body");
    walk.charged(walk.post("{\"name\":\"x\"}"), 400, "missing_field");
    walk.charged(walk.post("{\"name\":\"\",\"categoryId\":1}"), 400,
                 "invalid_field");
    walk.charged(walk.post("{\"id\":1,\"name\":\"x\",\"categoryId\":1}"), 400,
                 "read_only_field");
    walk.charged(http.get("/v1/pets?limit=0"), 400, "invalid_parameter");
    walk.charged(
        walk.raw(walk.head("POST /v1/pets", "Transfer-Encoding: chunked\r\n")
                 + "no number\r\n"),
        400, "bad_request");

    walk.charged(http.get("/v1/pets/99"), 404, "pet_not_found");
    walk.charged(http.get("/v1/pets/x"), 404, "pet_not_found");
    walk.charged(http.get("/v1/store/orders"), 404, "not_found");
    walk.charged(http.request("DELETE", "/v1/pets"), 405, "method_not_allowed");
    walk.charged(http.head("/v1/nowhere"), 404);
    walk.charged(
        walk.raw(walk.head("POST /slow/v1/pets", "Content-Length: 9\r\n")
                 + "{"),
        408, "request_timeout");
    walk.charged(http.get("/gone/v1/pets/1"), 410, "gone");
    walk.charged(walk.post(std::string(20'000, 'x')), 413, "payload_too_large");
    walk.charged(http.send({"POST",
                            "/v1/pets",
                            {{"Content-Type", "application/json"}},
                            std::string(20'000, ' '),
                            true}),
                 413, "payload_too_large");
    walk.charged(walk.post(kPet, {{"Content-Type", "text/plain"}}), 415,
                 "unsupported_media_type");
    walk.charged(walk.post(kPet, {{"Content-Encoding", "gzip"}}), 415,
                 "unsupported_media_type");
    walk.charged(walk.post("{\"name\":\"y\",\"categoryId\":7}",
                           {{"Idempotency-Key", "k"}}),
                 422, "idempotency_key_reused");

    // Damages a record. Without a new version, the worker would use its cached
    // copy.
    walk.store.redis.command(
        {"LSET", "petstore:{petstore:pets}:bucket:0", "1", "\x01"});
    walk.store.redis.command({"INCR", "petstore:{petstore:pets}:changes"});
    walk.charged(http.get("/v1/pets/2"), 500, "internal_error");

    // Restricts the key to reading.
    REQUIRE(ctl(walk.store.redis.url(),
                {"key", "set", walk.key.id, "--scopes", "read"})
                .code
            == 0);
    walk.charged(walk.post(kPet), 403, "insufficient_scope");

    CHECK(used(walk.store.redis, walk.key, "minute") == kLimit - walk.left);
    CHECK(used(walk.store.redis, walk.key, "day") == kLimit - walk.left);
}

TEST_CASE("limits walk: answers of the service without a valid key")
{
    Walk walk({});
    const auto with = [&](const std::string& authorization) {
        return walk.anyone.get("/v1/pets", {{"Authorization", authorization}});
    };
    walk.anonymous(walk.anyone.get("/v1/pets"), 401, "missing_api_key", true);
    walk.anonymous(with("Basic YTpi"), 401, "missing_api_key", true);
    walk.anonymous(with("Bearer nobody"), 401, "invalid_api_key", true);
    walk.anonymous(with("Bearer petstore_x"), 401, "invalid_api_key", true);
    walk.anonymous(walk.anyone.head("/v1/pets"), 401, "", true);
    walk.anonymous(walk.anyone.get("/v1/nowhere"), 401, "missing_api_key",
                   true);
    walk.anonymous(walk.anyone.post("/v1/pets", kPet), 401, "missing_api_key",
                   true);
    // Reports the window without counting.
    walk.anonymous(walk.anyone.request("OPTIONS", "/v1/pets"), 204, "", false);
    walk.anonymous(walk.http.request("OPTIONS", "/v1/pets/1"), 204, "", false);
    // The key has its own window.
    walk.charged(walk.http.get("/v1/pets"), 200);
    walk.anonymous(walk.anyone.get("/v1/pets"), 401, "missing_api_key", true);

    // Invalid keys count as no key.
    for (const char* what : {"disable", "delete"}) {
        const auto key = create_key(walk.store.redis);
        REQUIRE(ctl(walk.store.redis.url(), {"key", what, key.id}).code == 0);
        walk.anonymous(with("Bearer " + key.secret), 401, "invalid_api_key",
                       true);
    }
}

TEST_CASE("limits walk: responses generated by nginx inside the location")
{
    NginxOptions options;
    options.location = R"(
        client_max_body_size 1000;
        limit_except GET POST { deny all; }
        if ($arg_fail = "400") { return 400; }
        if ($arg_fail = "404") { return 404; }
        if ($arg_fail = "500") { return 500; }
        if ($arg_fail = "502") { return 502; }
        if ($arg_fail = "503") { return 503; }
        if ($arg_fail = "504") { return 504; })";
    Walk walk(options);
    auto& http = walk.http;
    // Errors before the key is checked.
    walk.anonymous(http.request("DELETE", "/v1/pets"), 403, "forbidden", false);
    walk.anonymous(http.get("/v1/pets?fail=400"), 400, "bad_request", false);
    walk.anonymous(http.get("/v1/pets?fail=404"), 404, "not_found", false);
    walk.anonymous(http.get("/v1/pets?fail=500"), 500, "internal_error", false);
    walk.anonymous(http.get("/v1/pets?fail=502"), 502, "service_unavailable",
                   false);
    CHECK(number(walk.anonymous(http.get("/v1/pets?fail=503"), 503,
                                "service_unavailable", false),
                 "retry-after")
          >= 1);
    walk.anonymous(http.get("/v1/pets?fail=504"), 504, "service_unavailable",
                   false);
    CHECK(used(walk.store.redis, walk.key, "minute") == 0);
}

TEST_CASE(
    "limits walk: responses generated by nginx before a location is found")
{
    NginxOptions options;
    options.http =
        "large_client_header_buffers 2 1k; client_header_buffer_size 1k;";
    options.server =
        "petstore_json_errors on; petstore_anonymous_limit 60;location = /missing { root %DIR%; }location = /static { limit_except GET { deny all; } root %DIR%; }";
    Walk walk(options);
    const std::string host = "HTTP/1.1\r\nHost: a\r\n";
    walk.anonymous(walk.raw("NONSENSE\r\n\r\n"), 400, "bad_request", false);
    walk.anonymous(walk.raw("GET /v1/pets HTTP/1.1\r\n\r\n"), 400,
                   "bad_request", false);
    walk.anonymous(
        walk.raw("GET /v1/pets " + host + "Content-Length: x\r\n\r\n"), 400,
        "bad_request", false);
    walk.anonymous(walk.raw("GET /v1/pets " + host
                            + "X: " + std::string(3000, 'a') + "\r\n\r\n"),
                   400, "header_too_large", false);
    walk.anonymous(walk.raw("GET /v1/pets?" + std::string(3000, 'a') + " "
                            + host + "\r\n"),
                   414, "uri_too_long", false);
    walk.anonymous(walk.raw("TRACE /v1/pets " + host + "\r\n"), 405,
                   "method_not_allowed", false);
    walk.anonymous(
        walk.raw("POST /v1/pets " + host + "Transfer-Encoding: gzip\r\n\r\n"),
        501, "not_implemented", false);
    walk.anonymous(walk.raw("GET /v1/pets HTTP/3.0\r\nHost: a\r\n\r\n"), 505,
                   "http_version_not_supported", false);
    walk.anonymous(walk.anyone.get("/nowhere"), 404, "not_found", false);
    walk.anonymous(walk.anyone.get("/missing"), 404, "not_found", false);
    walk.anonymous(walk.anyone.request("DELETE", "/static"), 403, "forbidden",
                   false);
}

TEST_CASE("limits walk: refusals for the limit and for a ban")
{
    NginxOptions options;
    options.location = "petstore_ban threshold=5 duration=77s;";
    Walk walk(options);
    const auto refuse = [&](Http& http, const char* code, long long limit) {
        const auto response = http.get("/v1/pets");
        expect_error(response, 429, code);
        const auto rate = rate_headers_of(response);
        CHECK(rate.limit == limit);
        CHECK(rate.remaining == 0);
        const auto retry = number(response, "retry-after");
        const auto now = redis_now(walk.store.redis);
        CHECK(retry >= 1);
        CHECK(now + retry >= rate.reset - 1);
        CHECK(now + retry <= rate.reset + 2);
        return retry;
    };
    struct Case {
        long long minute;
        long long day;
        long long told;     // limit of the violated window
        long long seconds;  // its length
        const char* words;
    };
    // If both are violated, the window with the later reset is reported.
    for (const auto& [minute, day, told, seconds, words] :
         {Case{3, 100, 3, 60, "3 requests per minute"},
          Case{100, 3, 3, 86400, "3 requests per day"},
          Case{3, 3, 3, 86400, "3 requests per day"},
          Case{1, 2, 1, 60, "1 request per minute"}}) {
        INFO(words);
        const auto key = limited_key(walk.store.redis, minute, day);
        Http http(walk.store.nginx.url(), key.secret);
        for (long long i = 0; i < std::min(minute, day); ++i) {
            CHECK(http.get("/v1/pets").status == 200);
        }
        const auto retry = refuse(http, "rate_limit_exceeded", told);
        CHECK(retry > seconds - 10);
        CHECK(retry <= seconds);
        const auto message =
            expect_error(http.get("/v1/pets"), 429, "rate_limit_exceeded");
        CHECK(contains(message, words));
        CHECK(contains(message, "second"));
        // Every request is refused, and none is charged.
        expect_error(http.post("/v1/pets", kPet), 429, "rate_limit_exceeded");
        expect_error(http.get("/v1/nowhere"), 429, "rate_limit_exceeded");
        CHECK(http.head("/v1/pets").status == 429);
        CHECK(used(walk.store.redis, key, "day") == std::min(minute, day));
    }

    const auto key = limited_key(walk.store.redis, 3);
    Http http(walk.store.nginx.url(), key.secret);
    for (int i = 0; i < 3 + 5; ++i) {
        http.get("/v1/pets");
    }
    const auto retry = refuse(http, "api_key_banned", 3);
    CHECK(retry >= 77 - 5);
    CHECK(retry <= 77);
    expect_error(http.get("/v1/nowhere"), 429, "api_key_banned");
    CHECK(http.head("/v1/pets").status == 429);
}

TEST_CASE("limits walk: while Redis is away")
{
    NginxOptions options;
    options.location = "petstore_redis_timeout 2s;";
    Walk walk(options);
    const auto fresh = create_key(walk.store.redis);
    const auto limited = limited_key(walk.store.redis, 2);
    Http over(walk.store.nginx.url(), limited.secret);
    walk.charged(walk.http.get("/v1/pets"), 200);
    walk.charged(walk.http.get("/v1/pets"), 200);
    for (int i = 0; i < 3; ++i) {
        over.get("/v1/pets");
    }
    const auto over_reset = rate_headers_of(over.get("/v1/pets")).reset;
    walk.store.redis.stop();

    const auto unavailable = [&](const Response& response, long long limit,
                                 long long remaining) {
        expect_error(response, 503, "service_unavailable");
        CHECK(number(response, "retry-after") >= 1);
        const auto rate = rate_headers_of(response);
        CHECK(rate.limit == limit);
        CHECK(rate.remaining == remaining);
        return rate.reset;
    };
    // The last reported values; for a key not yet known, a free key's with
    // nothing left.
    for (int i = 0; i < 3; ++i) {
        CHECK(unavailable(walk.http.get("/v1/pets"), kLimit, kLimit - 2)
              == walk.reset);
    }
    CHECK(unavailable(walk.post(kPet), kLimit, kLimit - 2) == walk.reset);
    Http other(walk.store.nginx.url(), fresh.secret);
    unavailable(other.get("/v1/pets"), 60, 0);
    // Denied from memory while that is valid; then a 503.
    CHECK(wait_until([&] { return over.get("/v1/pets").status == 503; }));
    CHECK(unavailable(over.get("/v1/pets"), 2, 0) == over_reset);
    // These need no Redis.
    walk.anonymous(walk.anyone.get("/v1/pets"), 401, "missing_api_key", true);
    walk.anonymous(walk.anyone.request("OPTIONS", "/v1/pets"), 204, "", false);

    walk.store.redis.start();
    REQUIRE(wait_until([&] { return other.get("/v1/pets").status == 200; }));
    walk.charged(walk.http.get("/v1/pets"), 200);
}

TEST_CASE("limits walk: a create whose answer is lost")
{
    RedisServer redis;
    const auto forward = forward_to(redis);
    FakeRedis liar([&](const Words& words) {
        // The first key of the create script is in the catalogue.
        const bool create = words.size() > 3 && contains(words[3], ":pets}:");
        auto answer = forward(words);
        return create ? FakeRedis::Answer{"", false, true} : answer;
    });
    NginxOptions options;
    options.redis = liar.url();
    NginxServer nginx(options);
    const auto key = limited_key(redis, 50);
    Http http(nginx.url(), key.secret);
    const auto before = rate_headers_of(http.get("/v1/pets"));
    const auto response = http.post("/v1/pets", kPet);
    expect_error(response, 503, "outcome_unknown");
    CHECK(number(response, "retry-after") >= 1);
    const auto rate = rate_headers_of(response);
    CHECK(rate.limit == 50);
    CHECK(rate.remaining == before.remaining - 1);
    CHECK(rate.reset == before.reset);
}
