// docs/redis-keys.md, "Usage of an account": the units of all days are those of
// the admitted requests.
#include <algorithm>
#include <csignal>

#include "support/redis_clock.h"
#include "support/store.h"

using namespace petstore::e2e;

namespace {

constexpr long long kMany = 100'000'000;

// Three hosts whose Redis has a clock that the test can set.
struct ClockedHosts : ClockedRedis {
    ClockedHosts()
    {
        auto options = host_options({});
        options.redis = redis.url();
        options.kills_workers = true;
        for (int i = 0; i < 3; ++i) {
            nginx.push_back(std::make_unique<NginxServer>(options));
        }
    }

    // Sends requests for some seconds. Returns how many were admitted.
    long long storm(const Key& key, std::chrono::seconds length, int& repeated)
    {
        Storm storm;
        for (const auto& host : nginx) {
            storm.ports.push_back(host->tls_port());
        }
        storm.connections = 32;
        storm.request = list_request(key.secret);
        const auto end = Clock::now() + length;
        const auto answers =
            storm.run_until([&](const Answer&) { return Clock::now() > end; });
        repeated = storm.repeated;
        return std::count_if(
            answers.begin(), answers.end(),
            [](const Answer& answer) { return answer.status == 200; });
    }

    std::vector<std::unique_ptr<NginxServer>> nginx;
};

long long field_of(const RedisServer& redis, const Key& key,
                   const std::string& month, const std::string& field)
{
    const auto value =
        redis.command({"HGET", account_key(key, "usage:" + month), field});
    return value.type == Value::Type::text ? std::stoll(value.text) : 0;
}

}  // namespace

TEST_CASE("limits usage: three hosts across a change of day and month")
{
    ClockedHosts hosts;
    const auto key = limited_key(hosts.redis, kMany);
    int repeated = 0;
    hosts.set_time("2027-02-28 23:00:00");
    long long admitted = hosts.storm(key, 1s, repeated);
    hosts.set_time("2027-02-28 23:59:58");
    Meanwhile reloads(700ms, [&] { hosts.nginx[0]->reload(); });
    admitted += hosts.storm(key, 5s, repeated);
    reloads.end();
    CHECK(usage_of(hosts.redis, key) == admitted);
    const auto february = field_of(hosts.redis, key, "202702", "28");
    CHECK(february > 0);
    // The month began with the day.
    CHECK(number_of(hosts.redis, key, Number::month) == admitted - february);
    CHECK(number_of(hosts.redis, key, Number::month_base) == 0);
    CHECK(february < admitted);
}

TEST_CASE("limits usage: a worker that is killed loses no charge")
{
    ClockedHosts hosts;
    const auto key = limited_key(hosts.redis, kMany);
    int repeated = 0;
    hosts.set_time("2027-06-10 23:00:00");
    long long admitted = hosts.storm(key, 1s, repeated);
    hosts.set_time("2027-06-10 23:59:58");
    Meanwhile kills(500ms, [&] {
        const auto workers = hosts.nginx[1]->workers();
        if (!workers.empty()) {
            ::kill(workers.front(), SIGKILL);
        }
    });
    admitted += hosts.storm(key, 4s, repeated);
    kills.end();
    CHECK(repeated > 0);
    const auto charged = usage_of(hosts.redis, key);
    CHECK(charged >= admitted);
    CHECK(charged <= admitted + repeated);
    CHECK(field_of(hosts.redis, key, "202706", "10") > 0);
}

TEST_CASE("limits usage: a damaged usage concerns its account alone")
{
    ClockedRedis host;
    const auto key = limited_key(host.redis, kMany);
    const auto other = limited_key(host.redis, kMany);
    NginxServer nginx(host.options());
    Http http(nginx.url(), key.secret);
    Http beside(nginx.url(), other.secret);
    host.set_time("2027-03-10 12:00:00");
    for (int i = 0; i < 3; ++i) {
        REQUIRE(http.get("/v1/pets").status == 200);
        REQUIRE(beside.get("/v1/pets").status == 200);
    }
    host.set_time("2027-03-11 12:00:01");
    const auto usage = account_key(key, "usage:202703");
    host.redis.command({"SET", usage, "x"});
    for (int i = 0; i < 3; ++i) {
        CHECK(http.get("/v1/pets").status == 500);
        CHECK(beside.get("/v1/pets").status == 200);
    }
    CHECK(contains(nginx.error_log(), usage));
    CHECK(usage_of(host.redis, other) == 6);
    host.redis.command({"DEL", usage});
    CHECK(usage_of(host.redis, key) == 3);  // nothing was charged
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(usage_of(host.redis, key) == 4);
    CHECK(field_of(host.redis, key, "202703", "10") == 3);
}

TEST_CASE("limits usage: a missing access rule shows at once")
{
    ClockedRedis host;
    const auto key = limited_key(host.redis, kMany);
    host.redis.command({"ACL", "SETUSER", "petstore", "on", ">pw", "~*", "&*",
                        "+@all", "-hincrby"});
    NginxOptions options = host.options();
    options.redis = "redis://petstore:pw@" + host.redis.tcp_url().substr(8);
    NginxServer nginx(options);
    CHECK(wait_until([&] {
        return contains(
            nginx.error_log(),
            "may not read and write the usage of accounts (NOPERM)");
    }));
    Http http(nginx.url(), key.secret);
    host.set_time("2027-03-10 12:00:00");
    REQUIRE(http.get("/v1/pets").status == 200);
    REQUIRE(http.get("/v1/pets").status == 200);
    host.set_clock(host.set_time("2027-03-11 12:00:01") - unix_time());
    for (int i = 0; i < 3; ++i) {
        CHECK(http.get("/v1/pets").status == 503);
    }
    CHECK(number_of(host.redis, key, Number::month) == 2);
    host.redis.command({"ACL", "SETUSER", "petstore", "+hincrby"});
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    CHECK(usage_of(host.redis, key) == 3);
    CHECK(field_of(host.redis, key, "202703", "10") == 2);
}

TEST_CASE("limits usage: denied requests are counted, with bans off too")
{
    ClockedRedis host;
    const auto key = limited_key(host.redis, 2);
    NginxServer nginx(host.options("petstore_ban off;"));
    Http http(nginx.url(), key.secret);
    host.set_time("2027-03-10 12:00:00");
    for (int i = 0; i < 12; ++i) {
        CHECK(http.get("/v1/pets").status == (i < 2 ? 200 : 429));
    }
    CHECK(wait_until(
        [&] { return field_of(host.redis, key, "202703", "10d") == 10; }));
    CHECK(used(host.redis, key, "strikes") == 0);
    CHECK(usage_of(host.redis, key) == 2);
}

TEST_CASE("limits usage: denied requests that Redis refuses are counted later")
{
    ClockedRedis host;
    const auto key = limited_key(host.redis, kMany, 2);
    NginxServer nginx(host.options());
    Http http(nginx.url(), key.secret);
    host.set_time("2027-03-10 12:00:00");
    for (int i = 0; i < 2; ++i) {
        REQUIRE(http.get("/v1/pets").status == 200);
    }
    host.redis.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
    for (int i = 0; i < 10; ++i) {
        CHECK(http.get("/v1/pets").status == 429);
    }
    CHECK(wait_until([&] {
        return contains(nginx.error_log(), "answered with NOREPLICAS");
    }));
    const auto denied = [&] {
        return field_of(host.redis, key, "202703", "10d");
    };
    CHECK(denied() == 0);
    SECTION("once it accepts them, without a further request")
    {
        host.redis.command({"CONFIG", "SET", "min-replicas-to-write", "0"});
        CHECK(wait_until([&] { return denied() == 10; }));
    }
    SECTION("but the worker's exit does not wait for that")
    {
        nginx.quit();
        CHECK(denied() == 0);
    }
}
