// docs/limits.md, "Bans".
#include <set>

#include "support/limits.h"

using namespace petstore::e2e;

namespace {

std::string code_after(Http& http, int requests)
{
    std::string code;
    for (int i = 0; i < requests; ++i) {
        code = code_of(http.get("/v1/pets"));
    }
    return code;
}

// Ends the ban as if its time had passed.
void end_ban(const RedisServer& redis, const Key& key)
{
    REQUIRE(number_of(redis, key, Number::ban_end) > 0);
    set_number(redis, key, Number::ban_end, 1000);
}

nlohmann::json usage(const RedisServer& redis, const Key& key)
{
    const auto result = ctl(redis.url(), {"key", "usage", key.id, "--json"});
    return nlohmann::json::parse(result.out, nullptr, false);
}

}  // namespace

TEST_CASE("limits ban: one request over the threshold")
{
    Store store;
    // The plan's number of denials is allowed, but at least 100.
    for (const int limit : {5, 150}) {
        INFO(limit);
        const int threshold = limit > 100 ? limit : 100;
        const auto key = limited_key(store.redis, limit);
        auto& http = store.http;
        http.use_key(key.secret);
        CHECK(code_after(http, limit) == "");
        CHECK(code_after(http, 1) == "rate_limit_exceeded");
        CHECK(code_after(http, threshold - 1) == "rate_limit_exceeded");

        const auto before = redis_now(store.redis);
        const auto response = http.get("/v1/pets");
        const auto message = expect_error(response, 429, "api_key_banned");
        const auto rate = rate_headers_of(response);
        CHECK(rate.limit == limit);
        CHECK(rate.remaining == 0);
        CHECK(rate.reset >= before + 300);
        CHECK(rate.reset <= redis_now(store.redis) + 301);
        const auto retry = number(response, "retry-after");
        CHECK(retry == 300);
        CHECK(contains(message, std::to_string(retry) + " seconds"));

        // Redis counts the ban for 24 hours.
        CHECK(left(store.redis, key, "bans") > 86'300'000);
        const auto told = usage(store.redis, key);
        CHECK(told.value("bans", 0) == 1);
        CHECK(told.at("banned_until").is_string());
        CHECK(used(store.redis, key, "day") == limit);
        CHECK(count_of(store.nginx.error_log(),
                       "account " + key.account + " banned for 300 s after "
                           + std::to_string(threshold + 1) + " denied requests")
              == 1);
    }
    // Other accounts are not affected.
    store.http.use_key(store.key.secret);
    CHECK(store.http.get("/v1/pets").status == 200);
}

TEST_CASE("limits ban: a location with a dry run in front hides no denial")
{
    NginxOptions options;
    options.server = R"(
        location /dry/ {
            petstore_guard on;
            petstore_limit_dry_run on;
            try_files /none /real/;
        }
        location /real/ { petstore_guard on; empty_gif; })";
    Store store(options);
    const auto key = limited_key(store.redis, 1);
    auto& http = store.http;
    http.use_key(key.secret);
    CHECK(http.get("/dry/").status == 200);
    for (int i = 0; i < 100; ++i) {
        CHECK(http.get("/dry/").status == 429);
    }
    CHECK(expect_error(http.get("/dry/"), 429, "api_key_banned") != "");
}

TEST_CASE("limits ban: each location bans by its own threshold")
{
    NginxOptions options;
    options.server = R"(
        location /lenient/ {
            petstore_guard on;
            petstore_ban threshold=100000;
            empty_gif;
        }
        location /strict/ {
            petstore_guard on;
            petstore_ban threshold=20;
            empty_gif;
        })";
    Store store(options);
    const auto key = limited_key(store.redis, 1);
    auto& http = store.http;
    http.use_key(key.secret);
    CHECK(http.get("/lenient/").status == 200);
    for (int i = 0; i < 10; ++i) {
        for (const char* path : {"/lenient/", "/strict/"}) {
            CHECK(code_of(http.get(path)) == "rate_limit_exceeded");
        }
    }
    CHECK(code_of(http.get("/lenient/")) == "rate_limit_exceeded");
    CHECK(code_of(http.get("/strict/")) == "api_key_banned");
    CHECK(code_of(http.get("/lenient/")) == "api_key_banned");
}

TEST_CASE("limits ban: applies to every host at once and is logged once")
{
    Hosts hosts(3);
    const auto key = limited_key(hosts.redis, 5);
    auto clients = one_per_worker(hosts);
    REQUIRE(clients.size() == 6);
    for (auto& client : clients) {
        client.use_key(key.secret);
    }
    // The first worker of the second host remembers the limit; the last worker
    // remembers nothing.
    CHECK(code_after(clients[0], 6) == "rate_limit_exceeded");
    CHECK(code_after(clients[2], 1) == "rate_limit_exceeded");
    wait_until([&] { return code_after(clients[0], 1) == "api_key_banned"; });
    CHECK(code_after(clients[5], 1) == "api_key_banned");
    CHECK(within_a_second(clients, key.secret, 429, "api_key_banned"));

    std::set<long long> ends;
    for (auto& client : clients) {
        ends.insert(rate_headers_of(client.get("/v1/pets")).reset);
    }
    CHECK(ends.size() == 1);

    // Strikes are counted across hosts: no host alone has a hundred.
    const auto other = limited_key(hosts.redis, 5);
    for (auto& client : clients) {
        client.use_key(other.secret);
        code_after(client, 20);
    }
    CHECK(wait_until([&] {
        return used(hosts.redis, other, "bans") == 1
               || used(hosts.redis, other, "strikes") == 6 * 20 - 5;
    }));
    CHECK(within_a_second(clients, other.secret, 429, "api_key_banned"));

    std::size_t lines = 0;
    for (const auto& host : hosts.nginx) {
        lines += count_of(host->error_log(), " banned for ");
    }
    CHECK(lines == 2);
}

TEST_CASE("limits ban: requests in it neither extend it nor count")
{
    Hosts hosts(3);
    const auto key = limited_key(hosts.redis, 5);
    hosts.storm(key).run(5000);
    auto clients = one_per_worker(hosts);
    clients[0].use_key(key.secret);
    REQUIRE(wait_until(
        [&] { return code_after(clients[0], 1) == "api_key_banned"; }));
    REQUIRE(within_a_second(clients, key.secret, 429, "api_key_banned"));
    const auto state =
        hosts.redis.command({"GET", account_key(key, "state")}).text;
    const auto reset = rate_headers_of(clients[0].get("/v1/pets")).reset;

    const auto answers = hosts.storm(key).run(5000);
    CHECK(refused(answers, "api_key_banned").size() == 5000);
    for (const auto& answer : answers) {
        REQUIRE(answer.reset == reset);
        REQUIRE(answer.remaining == 0);
        REQUIRE(answer.retry_after > 200);
        REQUIRE(answer.retry_after <= 300);
    }
    // Denials in a ban have not changed the account in Redis.
    clients[0].get("/v1/pets");
    CHECK(hosts.redis.command({"GET", account_key(key, "state")}).text
          == state);
    CHECK(used(hosts.redis, key, "bans") == 1);
    CHECK(used(hosts.redis, key, "strikes") == 0);
    CHECK(used(hosts.redis, key, "day") == 5);
}

TEST_CASE("limits ban: twice as long each time and an hour at most")
{
    Store store;
    const auto key = limited_key(store.redis, 1);
    store.http.use_key(key.secret);
    CHECK(code_after(store.http, 1) == "");
    for (const int seconds : {300, 600, 1200, 2400, 3600, 3600}) {
        INFO(seconds);
        // A worker may remember the previous ban for a moment.
        CHECK(wait_until(
            [&] { return code_after(store.http, 1) != "api_key_banned"; }));
        Response response;
        for (int i = 0; i < 200 && code_of(response) != "api_key_banned"; ++i) {
            response = store.http.get("/v1/pets");
        }
        expect_error(response, 429, "api_key_banned");
        const auto retry = number(response, "retry-after");
        CHECK(retry == seconds);
        end_ban(store.redis, key);
    }
    CHECK(used(store.redis, key, "bans") == 6);

    // 24 hours after the last ban, the length is reset.
    store.redis.command({"PEXPIRE", account_key(key, "bans"), "1"});
    REQUIRE(wait_until([&] { return used(store.redis, key, "bans") == 0; }));
    CHECK(wait_until(
        [&] { return code_after(store.http, 1) != "api_key_banned"; }));
    CHECK(code_after(store.http, 150) == "api_key_banned");
    CHECK(number(store.http.get("/v1/pets"), "retry-after") <= 300);
}

TEST_CASE("limits ban: petstore_ban sets its length and it ends by itself")
{
    NginxOptions options;
    options.location =
        "petstore_ban threshold=7 window=10s duration=3s max=5s;";
    Store store(options);
    const auto key = limited_key(store.redis, 5);
    auto& http = store.http;
    http.use_key(key.secret);

    // Seven refusals, and seven more once those have expired.
    CHECK(code_after(http, 5 + 7) == "rate_limit_exceeded");
    CHECK(wait_until([&] { return used(store.redis, key, "strikes") == 7; }));
    store.redis.command({"PEXPIRE", account_key(key, "strikes"), "1"});
    CHECK(wait_until([&] { return left(store.redis, key, "strikes") < 0; }));
    CHECK(code_after(http, 7) == "rate_limit_exceeded");

    // The next refusal exceeds the threshold.
    const auto banned_for = [&] {
        Response response;
        CHECK(wait_until([&] {
            response = http.get("/v1/pets");
            return code_of(response) == "api_key_banned";
        }));
        return number(response, "retry-after");
    };
    CHECK(banned_for() == 3);
    // The ban ends by itself, on time and not earlier.
    const auto end = number_of(store.redis, key, Number::ban_end);
    const auto reset = rate_headers_of(http.get("/v1/pets")).reset;
    CHECK(reset == (end + 999) / 1000);
    const std::chrono::milliseconds until_end(end - redis_millis(store.redis));
    const auto deadline = Clock::now() + until_end + 500ms;
    CHECK(kept_by(deadline,
                  [&] { return code_after(http, 1) != "api_key_banned"; }));
    CHECK(redis_millis(store.redis) >= end);
    // The next bans have the maximum length.
    CHECK(banned_for() == 5);
    end_ban(store.redis, key);
    CHECK(wait_until([&] { return code_after(http, 1) != "api_key_banned"; }));
    CHECK(banned_for() == 5);
}

TEST_CASE("limits ban: off")
{
    NginxOptions options;
    options.location = "petstore_ban off;";
    Hosts hosts(1, options);
    const auto key = limited_key(hosts.redis, 5);
    const auto answers = hosts.storm(key).run(3000);
    check_exact(answers, 5);
    // A denial is confirmed during a storm of over a second, which reports 0
    // denials.
    CHECK(used(hosts.redis, key, "strikes") == 0);
    CHECK(hosts.redis.command({"EXISTS", account_key(key, "bans")}).integer
          == 0);
}

TEST_CASE("limits ban: slow requests over the day limit are not banned")
{
    Store store;
    const auto key = limited_key(store.redis, 60, 10);
    auto& http = store.http;
    http.use_key(key.secret);
    CHECK(code_after(http, 10) == "");
    for (int minute = 0; minute < 4; ++minute) {
        INFO(minute);
        CHECK(code_after(http, 90) == "rate_limit_exceeded");
        REQUIRE(wait_until(
            [&] { return used(store.redis, key, "strikes") == 90; }));
        // Ends the minute.
        store.redis.command({"PEXPIRE", account_key(key, "strikes"), "1"});
        end_in(store.redis, key, Number::minute_end, 1);
        REQUIRE(
            wait_until([&] { return left(store.redis, key, "strikes") < 0; }));
    }
    const auto response = http.get("/v1/pets");
    expect_error(response, 429, "rate_limit_exceeded");
    CHECK(rate_headers_of(response).limit == 10);
    CHECK(number(response, "retry-after") > 86'000);
    CHECK(used(store.redis, key, "bans") == 0);
}

TEST_CASE("limits ban: lifted by petstorectl on every worker within a second")
{
    Hosts hosts(3);
    const auto key = limited_key(hosts.redis, 5);
    hosts.storm(key).run(2000);
    auto clients = one_per_worker(hosts);
    clients[0].use_key(key.secret);
    REQUIRE(wait_until(
        [&] { return code_after(clients[0], 1) == "api_key_banned"; }));
    REQUIRE(within_a_second(clients, key.secret, 429, "api_key_banned"));

    const auto result =
        ctl(hosts.redis.url(), {"key", "unban", key.id, "--json"});
    CHECK(nlohmann::json::parse(result.out).at("was_banned") == true);
    // Unbanning restores no requests: the minute is still used up.
    CHECK(within_a_second(clients, key.secret, 429, "rate_limit_exceeded"));
    CHECK(usage(hosts.redis, key).at("banned_until").is_null());
    CHECK(used(hosts.redis, key, "bans") == 0);

    // The next ban is a first one.
    CHECK(wait_until([&] {
        return code_of(clients[0].get("/v1/pets")) == "api_key_banned";
    }));
    CHECK(number(clients[0].get("/v1/pets"), "retry-after") <= 300);
    REQUIRE(within_a_second(clients, key.secret, 429, "api_key_banned"));

    // Once the minute is over, an unbanned account is admitted.
    end_in(hosts.redis, key, Number::minute_end, 1);
    REQUIRE(
        ctl(hosts.redis.url(), {"key", "set", key.id, "--per-minute", "10000"})
            .code
        == 0);
    REQUIRE(within_a_second(clients, key.secret, 429, "api_key_banned"));
    REQUIRE(ctl(hosts.redis.url(), {"key", "unban", key.id}).code == 0);
    CHECK(within_a_second(clients, key.secret, 200));
}
