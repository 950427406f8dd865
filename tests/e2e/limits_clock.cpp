// docs/limits.md, "Windows": setting Redis's clock back prolongs no window and
// no ban.
#include <ctime>

#include "support/redis_clock.h"

using namespace petstore::e2e;

namespace {

constexpr long long kHour = 3600;

std::string in_days(int days)
{
    const std::time_t time = unix_time() + days * 24 * kHour;
    char text[16];
    std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&time));
    return text;
}

// Waits for a denial by Redis under the current clock, not from the worker's
// memory.
Response denied_by_redis(Http& http, const RedisServer& redis)
{
    Response response;
    CHECK(wait_until([&] {
        const auto before = redis_now(redis);
        response = http.get("/v1/pets");
        const auto now = number(response, "x-ratelimit-reset")
                         - number(response, "retry-after");
        return now >= before - 1 && now <= redis_now(redis) + 1;
    }));
    return response;
}

}  // namespace

TEST_CASE("limits clock: a window set back by an hour ends within a minute")
{
    ClockedRedis host;
    const auto key = limited_key(host.redis, 5, 100);
    NginxServer nginx(host.options("petstore_ban off;"));
    Http http(nginx.url(), key.secret);

    host.set_clock(kHour);
    for (int i = 0; i < 5; ++i) {
        REQUIRE(http.get("/v1/pets").status == 200);
    }
    CHECK(http.get("/v1/pets").status == 429);

    host.set_clock(0);
    const auto now = redis_now(host.redis);
    const auto response = denied_by_redis(http, host.redis);
    expect_error(response, 429, "rate_limit_exceeded");
    CHECK(number(response, "retry-after") <= 60);
    const auto reset = number(response, "x-ratelimit-reset");
    CHECK(reset >= now + 60);
    CHECK(reset <= redis_now(host.redis) + 61);
    CHECK(number(response, "x-ratelimit-reset-day")
          <= redis_now(host.redis) + 86401);
    CHECK(number(response, "x-ratelimit-remaining-day") == 95);

    // From now on the end does not move, however many requests are denied.
    host.set_clock(40);
    const auto later = denied_by_redis(http, host.redis);
    CHECK(number(later, "x-ratelimit-reset") == reset);
    CHECK(number(later, "retry-after") <= 21);
    CHECK(used(host.redis, key, "minute") == 5);

    host.set_clock(62);
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    CHECK(used(host.redis, key, "minute") == 1);
    CHECK(used(host.redis, key, "day") == 6);
}

TEST_CASE("limits clock: a day set back by weeks ends within a day")
{
    ClockedRedis host;
    const auto key = limited_key(host.redis, 100, 3);
    NginxServer nginx(host.options("petstore_ban off;"));
    Http http(nginx.url(), key.secret);
    host.set_clock(21 * 24 * kHour);
    for (int i = 0; i < 3; ++i) {
        REQUIRE(http.get("/v1/pets").status == 200);
    }
    CHECK(http.get("/v1/pets").status == 429);
    host.set_clock(0);
    const auto response = denied_by_redis(http, host.redis);
    expect_error(response, 429, "rate_limit_exceeded");
    CHECK(number(response, "retry-after") <= 86400);
    CHECK(number(response, "retry-after") > 86000);
    // Redis does not keep the state for weeks either.
    const auto state = account_key(key, "state");
    CHECK(host.redis.command({"PTTL", state}).integer <= 431LL * 86400 * 1000);
}

TEST_CASE("limits clock: a key works again once a clock ahead is set right")
{
    ClockedRedis host;
    const auto key = create_key(
        host.redis, {"--plan", "business", "--expires", in_days(30)});
    NginxServer nginx(host.options());
    Http http(nginx.url(), key.secret);
    REQUIRE(http.get("/v1/pets").status == 200);
    host.set_clock(60 * 24 * kHour);
    // No request but those with this key brings the worker Redis's clock.
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 401; }));

    // Refused from memory, and not charged.
    const auto charged = used(host.redis, key, "day");
    const auto before = command_counts(host.redis);
    const auto start = Clock::now();
    while (Clock::now() < start + 4s) {
        REQUIRE(http.get("/v1/pets").status == 401);
    }
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start)
            .count();
    auto after = command_counts(host.redis);
    auto counted = before;
    CHECK(after["evalsha"] - counted["evalsha"] <= seconds + 2);
    // Three times a second at most, the records of the key and of its account.
    CHECK(after["hgetall"] - counted["hgetall"] <= 2 * 3 * (seconds + 1));
    CHECK(used(host.redis, key, "day") == charged);

    host.set_clock(0);
    const auto deadline = Clock::now() + 1200ms;
    CHECK(
        kept_by(deadline, [&] { return http.get("/v1/pets").status == 200; }));
}

TEST_CASE(
    "limits clock: a ban set back by hours lasts no longer than it should")
{
    ClockedRedis host;
    const auto key = limited_key(host.redis, 2);
    NginxServer nginx(host.options(
        "petstore_ban threshold=2 window=60s duration=300s max=1h;"));
    Http http(nginx.url(), key.secret);
    host.set_clock(6 * kHour);
    CHECK(wait_until(
        [&] { return code_of(http.get("/v1/pets")) == "api_key_banned"; }));
    host.set_clock(0);
    const auto response = denied_by_redis(http, host.redis);
    expect_error(response, 429, "api_key_banned");
    CHECK(number(response, "retry-after") <= 300);
    CHECK(number(response, "retry-after") >= 290);
    const auto reset = number(response, "x-ratelimit-reset");
    host.set_clock(100);
    const auto later = denied_by_redis(http, host.redis);
    CHECK(number(later, "x-ratelimit-reset") == reset);
    host.set_clock(302);
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    // It still counts towards the length of the next ban.
    CHECK(used(host.redis, key, "bans") == 1);
}
