// SPEC 3: who goes on after a 429 is banned for a while.
#include <ctime>

#include "support/store.h"

using namespace petstore::e2e;

namespace {

// Asks until the answer is another one; how often it was this one.
int count_while(Http& http, const std::string& code, int at_most)
{
    for (int i = 0; i < at_most; ++i) {
        const auto json = http.get("/v1/pets").json();
        const bool same = json.is_object() ? json.value("code", "") == code
                                           : code == "200";
        if (!same) {
            return i;
        }
    }
    return at_most;
}

long long wait_of(const Response& response)
{
    return std::atoll(response.header("retry-after").c_str());
}

std::size_t lines_with(const std::string& log, const std::string& text)
{
    std::size_t count = 0;
    for (const auto& line : split(log, '\n')) {
        count += contains(line, text);
    }
    return count;
}

}  // namespace

TEST_CASE("bans: more than a hundred denied requests are one of five minutes")
{
    Store store;
    NginxOptions options;
    options.redis = store.redis.url();
    NginxServer other(options);
    const auto key = create_key(store.redis, {"--plan", "free"});
    Http http(store.nginx.url(), key.secret);
    CHECK(count_while(http, "200", 1000) == 60);
    // The one that found the minute over was the first denied, and the one that
    // is not denied like the others any more was the first too many.
    CHECK(1 + count_while(http, "rate_limit_exceeded", 1000) == 100);

    const auto response = http.get("/v1/pets");
    const auto message = expect_error(response, 429, "api_key_banned");
    CHECK(contains(message, "banned"));
    CHECK(wait_of(response) > 290);
    CHECK(wait_of(response) <= 301);  // both ends rounded
    const auto rate = rate_headers_of(response);
    CHECK(rate.remaining == 0);
    const auto now = static_cast<long long>(std::time(nullptr));
    CHECK(std::llabs(rate.reset - now - wait_of(response)) <= 1);

    // Requests during a ban do not move its end, and all hosts know.
    for (int i = 0; i < 150; ++i) {
        const auto again = http.get("/v1/pets");
        REQUIRE(again.status == 429);
        CHECK(rate_headers_of(again).reset == rate.reset);
    }
    const auto there = Http(other.url(), key.secret).get("/v1/pets");
    expect_error(there, 429, "api_key_banned");
    CHECK(rate_headers_of(there).reset == rate.reset);
    CHECK(lines_with(store.nginx.error_log() + other.error_log(), "ban") == 1);
    CHECK_FALSE(contains(store.nginx.error_log(), key.secret));
}

TEST_CASE("bans: come after as many denials as the plan has requests")
{
    Store store;
    const auto key = create_key(store.redis, {"--plan", "pro"});
    Http http(store.nginx.url(), key.secret);
    CHECK(count_while(http, "200", 1000) == 300);
    CHECK(1 + count_while(http, "rate_limit_exceeded", 1000) == 300);
    expect_error(http.get("/v1/pets"), 429, "api_key_banned");
}

TEST_CASE("bans: end by themselves and grow when repeated")
{
    NginxOptions options;
    options.location = "petstore_ban threshold=5 window=60s duration=1s max=2s;";
    Store store(options);
    // An account may always be denied as often as its minute limit.
    const auto key = create_key(store.redis, {"--plan", "enterprise", "--per-minute",
                                              "2", "--per-day", "1000"});
    Http http(store.nginx.url(), key.secret);
    CHECK(count_while(http, "200", 100) == 2);
    const auto minute = "petstore:{" + key.account + "}:minute";

    for (const long long seconds : {1, 2, 2}) {
        CHECK(count_while(http, "rate_limit_exceeded", 100) <= 5);
        const auto banned = http.get("/v1/pets");
        expect_error(banned, 429, "api_key_banned");
        CHECK(wait_of(banned) >= 1);
        CHECK(wait_of(banned) <= seconds + 1);
        const auto ttl = rate_headers_of(banned).reset
                         - static_cast<long long>(std::time(nullptr));
        CHECK(ttl <= seconds + 1);
        // After it, the minute that is still over counts again.
        CHECK(wait_until(
            [&] {
                return http.get("/v1/pets").json().value("code", "")
                       == "rate_limit_exceeded";
            },
            std::chrono::milliseconds(seconds * 1000 + 2500)));
    }
    // And when that has ended too, all is well.
    store.redis.command({"DEL", minute});
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }, 5s));
}

TEST_CASE("bans: count over all workers and hosts")
{
    RedisServer redis;
    const auto key = create_key(redis, {"--plan", "free"});
    NginxOptions options;
    options.redis = redis.url();
    options.workers = 2;
    NginxServer one(options);
    NginxServer other(options);
    // 60 admitted and then not enough denials for any worker alone.
    int denied = 0;
    bool banned = false;
    const auto deadline = Clock::now() + 20s;
    for (int i = 0; !banned && Clock::now() < deadline; ++i) {
        const auto response =
            Http((i % 2 ? one : other).url(), key.secret).get("/v1/pets");
        if (response.status == 429) {
            ++denied;
            banned = response.json().value("code", "") == "api_key_banned";
        }
    }
    CHECK(banned);
    // Strikes reach Redis in batches; a ban may come that much later, never
    // sooner.
    CHECK(denied > 100);
}

TEST_CASE("bans: are lifted by the operator at once")
{
    NginxOptions options;
    options.workers = 2;
    options.location = "petstore_ban threshold=5;";
    Store store(options);
    const auto key = create_key(store.redis, {"--plan", "enterprise", "--per-minute",
                                              "5", "--per-day", "1000"});
    const auto is = [&](const char* code) {
        for (int i = 0; i < 12; ++i) {
            Http http(store.nginx.url(), key.secret);
            if (http.get("/v1/pets").json().value("code", "") != code) {
                return false;
            }
        }
        return true;
    };
    Http http(store.nginx.url(), key.secret);
    CHECK(wait_until([&] {
        const auto json = http.get("/v1/pets").json();
        return json.is_object() && json.value("code", "") == "api_key_banned";
    }));
    CHECK(wait_until([&] { return is("api_key_banned"); }));

    const auto start = Clock::now();
    REQUIRE(ctl(store.redis.url(), {"key", "unban", key.id}).code == 0);
    // The ban is gone, the minute is still over.
    CHECK(wait_until([&] {
        return Http(store.nginx.url(), key.secret)
                   .get("/v1/pets")
                   .json()
                   .value("code", "")
               == "rate_limit_exceeded";
    }));
    CHECK(Clock::now() - start < (sanitized() ? 3s : 1s));
}

TEST_CASE("bans: can be switched off")
{
    NginxOptions options;
    options.location = "petstore_ban off;";
    Store store(options);
    const auto key = create_key(store.redis, {"--plan", "free"});
    Http http(store.nginx.url(), key.secret);
    CHECK(count_while(http, "200", 1000) == 60);
    CHECK(count_while(http, "rate_limit_exceeded", 400) == 400);
}

TEST_CASE("bans: rotation refills nothing and lifts no ban")
{
    NginxOptions options;
    options.location = "petstore_ban threshold=5;";
    Store store(options);
    const auto key = create_key(store.redis, {"--plan", "enterprise", "--per-minute",
                                              "10", "--per-day", "1000"});
    Http http(store.nginx.url(), key.secret);
    CHECK(count_while(http, "200", 4) == 4);

    const auto rotated =
        ctl(store.redis.url(), {"key", "rotate", key.id, "--grace", "1h", "--json"});
    REQUIRE(rotated.code == 0);
    const auto json = nlohmann::json::parse(rotated.out);
    const std::string secret = json.at("key");
    remember_secret(secret);
    CHECK(json.at("account") == key.account);
    CHECK(secret != key.secret);
    // The new one goes on where the old one is; the old one still works.
    Http fresh(store.nginx.url(), secret);
    CHECK(rate_headers_of(fresh.get("/v1/pets")).remaining == 5);
    CHECK(rate_headers_of(http.get("/v1/pets")).remaining == 4);
    CHECK(count_while(fresh, "200", 100) == 4);
    CHECK(wait_until([&] {
        return http.get("/v1/pets").json().value("code", "") == "api_key_banned";
    }));
    expect_error(fresh.get("/v1/pets"), 429, "api_key_banned");
}
