// docs/http.md, "getUsage": what petstore_usage tells customers.
#include <regex>

#include "support/guarded_store.h"
#include "support/redis_clock.h"
#include "support/two_redis.h"

using namespace petstore::e2e;
using nlohmann::json;

namespace {

constexpr char kPath[] = "/v1/usage";

NginxOptions with_usage(const std::string& directives = "")
{
    NginxOptions options;
    options.server =
        "location = /v1/usage { petstore_usage; " + directives + " }";
    return options;
}

json window(const std::string& name, long long limit, long long used,
            const json& reset)
{
    return {{"window", name},
            {"limit", limit},
            {"used", used},
            {"remaining", limit - used},
            {"reset", reset}};
}

// Asks until an answer of less than a second's age says so.
bool becomes(Http& http, const std::string& member, const json& value)
{
    return wait_until([&] {
        const auto response = http.get(kPath);
        return response.status == 200 && response.json()[member] == value;
    });
}

Output check(const std::string& lines)
{
    NginxOptions options;
    options.redis = "redis://127.0.0.1:6379";
    options.server = lines;
    return NginxServer::check(options);
}

}  // namespace

TEST_CASE("usage location: a preflight allows its methods")
{
    Store store(with_usage("petstore_cors https://app.example.com;"));
    Http http(store.nginx.url());
    const auto response =
        http.send({"OPTIONS",
                   kPath,
                   {{"Origin", "https://app.example.com"},
                    {"Access-Control-Request-Method", "GET"}}});
    CHECK(response.status == 204);
    CHECK(response.header("allow") == "GET, HEAD, OPTIONS");
    CHECK(response.header("access-control-allow-methods")
          == "GET, HEAD, OPTIONS");
}

TEST_CASE("usage location: shows what the account has used")
{
    Store store(with_usage());
    const auto key =
        create_key(store.redis, {"--plan", "pro", "--per-month", "20000"});
    Http http(store.nginx.url(), key.secret);
    long long reset = 0;
    for (int i = 0; i < 3; ++i) {
        const auto response = http.get("/v1/pets");
        REQUIRE(response.status == 200);
        reset = rate_headers_of(response).reset;
    }
    const auto response = http.get(kPath);
    CHECK(response.status == 200);
    CHECK(response.header("content-type") == "application/json");
    CHECK(response.header("cache-control") == "no-store");
    const auto usage = response.json();
    const auto& windows = usage["windows"];
    REQUIRE(windows.size() == 3);
    CHECK(usage
          == json{{"account", key.account},
                  {"plan", "pro"},
                  {"windows",
                   {window("minute", 300, 3, reset),
                    window("day", 10'000, 3, windows[1]["reset"]),
                    window("month", 20'000, 3, windows[2]["reset"])}},
                  {"today", 3},
                  {"month", 3},
                  {"last_used", usage["last_used"]}});
    CHECK(windows[1]["reset"] > reset);
    CHECK(std::regex_match(usage["last_used"].get<std::string>(),
                           std::regex(R"(20\d\d-\d\d-\d\d)")));
    // Those of the window with the fewest left.
    const auto rate = rate_headers_of(response);
    CHECK(rate.limit == 300);
    CHECK(rate.remaining == 297);
    CHECK(rate.reset == reset);

    // The same as the operator sees.
    const auto seen = json::parse(
        ctl(store.redis.url(), {"usage", key.account, "--json"}).out);
    CHECK(seen["windows"] == windows);
    CHECK(seen["last_used"] == usage["last_used"]);
}

TEST_CASE("usage location: is not charged, and asks Redis once per second")
{
    Store store(with_usage());
    CHECK(store.http.get("/v1/pets").status == 200);
    Monitor monitor(store.redis);
    const auto start = Clock::now();
    for (int i = 0; i < 20; ++i) {
        CHECK(store.http.get(kPath).json()["today"] == 1);
    }
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start);
    const auto names = monitor.names();
    // Once more, because the script is not loaded.
    CHECK(std::count(names.begin(), names.end(), "EVALSHA")
          <= 1 + seconds.count());
    CHECK(store.http.get("/v1/pets").status == 200);
    CHECK(becomes(store.http, "today", 2));
    CHECK(number_of(store.redis, store.key, Number::minute) == 2);
}

TEST_CASE("usage location: a limit or a ban does not close it")
{
    auto options = with_usage();
    options.location =
        "petstore_ban threshold=1 window=60s duration=300s max=1h;";
    Store store(options);
    const auto key = limited_key(store.redis, 1, 9);
    Http http(store.nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(http.get("/v1/pets").status == 429);
    const auto limited = http.get(kPath);
    CHECK(limited.status == 200);
    CHECK(rate_headers_of(limited).remaining == 0);
    CHECK(limited.json()["windows"][0]["remaining"] == 0);

    CHECK(wait_until([&] {
        return http.get("/v1/pets").json()["code"] == "api_key_banned";
    }));
    Response banned;
    CHECK(wait_until([&] {
        banned = http.get(kPath);
        return rate_headers_of(banned).reset
               > limited.json()["windows"][0]["reset"];
    }));
    CHECK(banned.status == 200);
    CHECK(rate_headers_of(banned).remaining == 0);
    CHECK(banned.json()["windows"][1]["used"] == 1);
}

TEST_CASE("usage location: only a valid key is answered")
{
    const Store store(with_usage());
    Http nobody(store.nginx.url());
    const auto missing = nobody.get(kPath);
    expect_error(missing, 401, "missing_api_key");
    CHECK(missing.header("www-authenticate") == "Bearer realm=\"petstore\"");
    expect_error(nobody.get(kPath, kUnknownKey), 401, "invalid_api_key");
    expect_error(nobody.request("POST", kPath), 401, "missing_api_key");
    const auto options = nobody.request("OPTIONS", kPath);
    CHECK(options.status == 204);
    CHECK(options.header("allow") == "GET, HEAD, OPTIONS");
    const auto other =
        create_key(store.redis, {"--plan", "pro", "--scopes", "x"});
    CHECK(Http(store.nginx.url(), other.secret).get(kPath).status == 200);
    Http http = store.client();
    const auto refused = http.request("DELETE", kPath);
    expect_error(refused, 405, "method_not_allowed");
    CHECK(refused.header("allow") == "GET, HEAD, OPTIONS");
    const auto head = http.head(kPath);
    CHECK(head.status == 200);
    CHECK(head.body.empty());
    CHECK(head.header("content-length")
          == std::to_string(http.get(kPath).body.size()));
}

TEST_CASE("usage location: changes of the key take effect within a second")
{
    Store store(with_usage());
    const auto key = create_key(store.redis, {"--plan", "free"});
    Http http(store.nginx.url(), key.secret);
    CHECK(http.get(kPath).json()["plan"] == "free");
    ctl(store.redis.url(), {"key", "set", key.id, "--plan", "business"});
    auto changed = Clock::now();
    CHECK(kept_by(changed + 1s, [&] {
        return http.get(kPath).json()["windows"][0]["limit"] == 1000;
    }));
    ctl(store.redis.url(), {"key", "disable", key.id});
    changed = Clock::now();
    CHECK(kept_by(changed + 1s, [&] { return http.get(kPath).status == 401; }));
    expect_error(http.get(kPath), 401, "invalid_api_key");
    ctl(store.redis.url(), {"key", "enable", key.id});
    CHECK(kept_by(Clock::now() + 1s,
                  [&] { return http.get(kPath).status == 200; }));

    // An account of which Redis has no state.
    store.redis.command({"DEL", account_key(key, "state")});
    CHECK(becomes(http, "last_used", nullptr));
    CHECK(http.get(kPath).json()["windows"][1]["used"] == 0);
    ctl(store.redis.url(), {"key", "delete", key.id});
    CHECK(kept_by(Clock::now() + 1s,
                  [&] { return http.get(kPath).status == 401; }));
}

TEST_CASE("usage location: days and months are those of Redis in UTC")
{
    ClockedRedis host;
    auto options = host.options();
    options.server = with_usage().server;
    const auto key = limited_key(host.redis, 1000);
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    host.set_time("2027-02-27 12:00:00");
    CHECK(http.get("/v1/pets").status == 200);
    host.set_time("2027-02-28 23:00:00");
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(becomes(http, "today", 2));
    auto usage = http.get(kPath).json();
    CHECK(usage["month"] == 3);
    CHECK(usage["last_used"] == "2027-02-28");
    host.set_time("2027-03-01 00:00:01");
    CHECK(becomes(http, "today", 0));
    usage = http.get(kPath).json();
    CHECK(usage["month"] == 0);
    CHECK(usage["last_used"] == "2027-02-28");

    // A reset empties the windows; what was used remains.
    CHECK(http.get("/v1/pets").status == 200);
    ctl(host.redis.url(), {"account", "reset", key.account});
    CHECK(becomes(http, "today", 1));
    usage = http.get(kPath).json();
    CHECK(usage["windows"][0]["used"] == 0);
    CHECK(usage["last_used"] == "2027-03-01");
}

TEST_CASE("usage location: damage and a Redis that is away")
{
    Store store(with_usage());
    CHECK(store.http.get(kPath).status == 200);
    const auto state = account_key(store.key, "state");
    store.redis.command({"SET", state, "x"});
    CHECK(wait_until([&] { return store.http.get(kPath).status == 500; }));
    expect_error(store.http.get(kPath), 500, "internal_error");
    CHECK(contains(store.nginx.error_log(), state));
    store.redis.command({"DEL", state});
    CHECK(store.http.get(kPath).status == 200);
    store.redis.stop();
    CHECK(wait_until([&] { return store.http.get(kPath).status == 503; }));
    expect_error(store.http.get(kPath), 503, "service_unavailable");
}

TEST_CASE("usage location: settings of the surroundings apply")
{
    auto options = with_usage("petstore_cors https://shop.example;");
    options.location = "petstore_limit_headers windows;";
    options.http = "log_format all '$petstore_operation|$petstore_account|"
                   "$petstore_limit_status|$status';\n"
                   "petstore_limit_headers ietf;";
    options.server +=
        "access_log all.log all; location /status { petstore_status; }";
    Store store(options);
    const auto response =
        store.http.get(kPath, {{"Origin", "https://shop.example"}});
    CHECK(response.status == 200);
    CHECK(response.header("access-control-allow-origin")
          == "https://shop.example");
    CHECK(contains(response.header("ratelimit-policy"), "\"minute\";q="));
    CHECK(contains(response.header("ratelimit"), "\"day\";r="));
    CHECK(wait_until([&] {
        return contains(read_file(store.nginx.path("all.log")),
                        "getUsage|" + store.key.account + "|-|200\n");
    }));
    CHECK(contains(
        store.http.get("/status").body,
        "petstore_requests_total{operation=\"usage\",status=\"200\"} 1"));
}

TEST_CASE("usage location: part of the API's document")
{
    Store store(with_usage());
    const auto paths = store.http.get("/v1/openapi.json").json()["paths"];
    REQUIRE(paths.contains("/usage"));
    CHECK(paths["/usage"]["get"]["operationId"] == "getUsage");
    auto elsewhere = with_usage();
    replace_all(elsewhere.server, "/v1/usage", "/usage");
    const Store other(elsewhere);
    CHECK_FALSE(other.client()
                    .get("/v1/openapi.json")
                    .json()["paths"]
                    .contains("/usage"));
    CHECK(other.client().get("/usage").status == 200);
}

TEST_CASE("usage location: not part of a document that is not true of it")
{
    const auto is_described = [](const NginxOptions& options) {
        const Store store(options);
        return store.client()
            .get("/v1/openapi.json")
            .json()["paths"]
            .contains("/usage");
    };
    for (const char* directive :
         {"petstore_key_header X-API-Key;", "petstore_limit_headers windows;",
          "petstore_limit_headers ietf;", "petstore_cors *;"}) {
        INFO(directive);
        auto both = with_usage();
        both.server = directive + both.server;
        CHECK(is_described(both));
        auto one = with_usage();
        one.location += directive;
        CHECK_FALSE(is_described(one));
    }
    auto irrelevant = with_usage();
    irrelevant.location += "petstore_get_sunset off;";
    CHECK(is_described(irrelevant));
    // Clients cannot reach it, or their keys are not valid there.
    for (const char* directive : {"internal;", "petstore_prefix other;"}) {
        INFO(directive);
        CHECK_FALSE(is_described(with_usage(directive)));
        auto two = with_usage();
        two.server = "location = /v1/authz { petstore_usage; "
                     + std::string(directive) + " }" + two.server;
        CHECK(is_described(two));
    }
}

TEST_CASE("usage location: a body is ignored, whatever its size")
{
    BackEnd back_end;
    auto options = with_back_end(
        with_usage("client_max_body_size 1k;"
                   "limit_except GET { proxy_pass http://%BACK_END%; }"),
        back_end);
    Store store(options);
    const auto send = [&](const std::string& method, const std::string& key) {
        Http http(store.nginx.url(), key);
        return http.send({method, kPath, {}, std::string(2000, 'x')});
    };
    CHECK(send("GET", store.key.secret).status == 200);
    expect_error(send("GET", ""), 401, "missing_api_key");
    // Another handler may read it.
    expect_error(send("POST", store.key.secret), 413, "payload_too_large");
    CHECK(back_end.count() == 0);
}

TEST_CASE("usage location: other handlers there are guarded")
{
    NginxOptions options;
    options.server = R"(
        location /limited {
            petstore_usage;
            limit_except GET { proxy_pass http://%BACK_END%; }
        }
        location /chosen {
            petstore_usage;
            if ($arg_other) { proxy_pass http://%BACK_END%; }
        }
        location /overridden {
            petstore_usage;
            proxy_pass http://%BACK_END%;
        })";
    BackEnd back_end;
    Store store(with_back_end(options, back_end));
    Http http = store.client();
    CHECK(http.get("/limited").json().contains("windows"));
    CHECK(http.get("/chosen").json().contains("windows"));
    const auto charged = [&] {
        return number_of(store.redis, store.key, Number::minute);
    };
    CHECK(charged() == 0);
    CHECK(http.request("POST", "/limited").status == 200);
    CHECK(http.get("/chosen?other=1").status == 200);
    CHECK(http.get("/overridden").status == 200);
    CHECK(charged() == 3);
    Http nobody(store.nginx.url());
    CHECK(nobody.request("POST", "/limited").status == 401);
    CHECK(nobody.get("/chosen?other=1").status == 401);
    CHECK(nobody.get("/overridden").status == 401);
}

TEST_CASE("usage location: a guard around it charges nothing")
{
    NginxOptions options = with_usage();
    options.http = "petstore_guard on;";
    Store store(options);
    CHECK(store.http.get(kPath).status == 200);
    CHECK(number_of(store.redis, store.key, Number::minute) == 0);
}

TEST_CASE("usage location: what nginx -t says of the directive")
{
    const auto refuses = [](const std::string& lines,
                            const std::string& message) {
        const auto result = check(lines);
        INFO(result.err);
        CHECK(result.code != 0);
        CHECK(contains(result.err, message));
    };
    refuses(
        "location /u { petstore_usage; petstore_status; }",
        "\"petstore_status\" cannot be used in one location with another of");
    refuses(
        "location /v1/ { petstore; petstore_usage; }",
        "\"petstore_usage\" cannot be used in one location with another of");
    refuses(
        "location /u { petstore_usage; petstore_guard on; }",
        "\"petstore_guard on\" cannot be used in a location with \"petstore_usage\"");
    refuses("location /u { petstore_usage on; }",
            "invalid number of arguments in \"petstore_usage\" directive");
    refuses("petstore_usage;",
            "\"petstore_usage\" directive is not allowed here");
    const auto warned =
        check("location /u { petstore_usage; proxy_pass http://127.0.0.1:1; }");
    CHECK(warned.code == 0);
    CHECK(contains(warned.err, "\"petstore_usage\" is overridden by a later"));
    CHECK(check("location /u { petstore_usage; }").code == 0);
}

TEST_CASE("usage location: limits of another Redis")
{
    TwoRedisStore store(with_usage());
    CHECK(store.http.get("/v1/pets").status == 200);
    CHECK(becomes(store.http, "today", 1));
    store.redis.limits.command({"DEL", account_key(store.key, "state")});
    CHECK(becomes(store.http, "today", 0));
    CHECK(store.redis.ctl({"key", "disable", store.key.id}).code == 0);
    CHECK(kept_by(Clock::now() + 1s,
                  [&] { return store.http.get(kPath).status == 401; }));
}

TEST_CASE("usage location: limits that were moved away are not shown")
{
    TwoRedis redis;
    NginxOptions options = with_usage();
    options.redis = redis.main.url();
    const auto key = create_key(redis.main, {"--plan", "pro"});
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(redis.ctl({"limits", "move"}).code == 0);
    CHECK(wait_until([&] { return http.get(kPath).status == 503; }));
    CHECK(contains(nginx.error_log(), "counters were moved"));
}
