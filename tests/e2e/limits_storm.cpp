// docs/limits.md, "Denials from memory": a storm of requests over the limit
// does not load Redis. docs/redis-keys.md: everything that requests leave in
// Redis expires.
#include <algorithm>

#include "support/limits.h"

using namespace petstore::e2e;

namespace {

const std::size_t kStorm = sanitized() ? 20'000 : 100'000;

// The number of commands that a worker may send per second, not counting
// commands called by scripts.
constexpr long long kHandful = 5;

struct Cost {
    long long sent = 0;
    long long executed = 0;  // including commands called by scripts
    double seconds = 0;
    std::vector<Answer> answers;
};

// `once`: the commands that each connection may cost until the workers have
// cached the key and its limit.
Cost measure(const Hosts& hosts, Storm storm, int once)
{
    storm.connections = 64;
    storm.pipeline = 8;
    const auto before = command_counts(hosts.redis);
    const auto start = Clock::now();
    Cost cost;
    cost.answers = storm.run(kStorm);
    cost.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    for (const auto& [name, count] : command_counts(hosts.redis)) {
        const auto found = before.find(name);
        const auto calls = count - (found == before.end() ? 0 : found->second);
        cost.executed += calls;
        if (name == "eval" || name == "evalsha" || name == "hgetall") {
            cost.sent += calls;
        }
    }
    INFO(kStorm << " requests in " << cost.seconds << " s: " << cost.sent
                << " commands sent, " << cost.executed << " executed");
    const auto workers = static_cast<double>(2 * hosts.nginx.size());
    CHECK(static_cast<double>(cost.sent)
          <= kHandful * workers * (cost.seconds + 1)
                 + once * storm.connections);
    CHECK(cost.sent > 0);
    return cost;
}

std::size_t with(const std::vector<Answer>& answers, int status,
                 const std::string& code)
{
    return static_cast<std::size_t>(std::count_if(
        answers.begin(), answers.end(), [&](const Answer& answer) {
            return answer.status == status && answer.code == code;
        }));
}

}  // namespace

TEST_CASE("limits storm: over the limit")
{
    NginxOptions options;
    options.location = "petstore_ban threshold=100000000;";
    Hosts hosts(1, options);
    const auto key = limited_key(hosts.redis, 10);
    // Makes both workers cache the key and its limit.
    check_exact(hosts.storm(key).run(500), 10);

    const auto cost = measure(hosts, hosts.storm(key), 0);
    CHECK(with(cost.answers, 429, "rate_limit_exceeded") == kStorm);
    CHECK(used(hosts.redis, key, "minute") == 10);
    CHECK(used(hosts.redis, key, "day") == 10);
    // Despite few commands, every refusal is counted.
    CHECK(wait_until([&] {
        return used(hosts.redis, key, "strikes")
               == static_cast<long long>(kStorm) + 500 - 10;
    }));
}

TEST_CASE("limits storm: into a ban and through it")
{
    Hosts hosts(1);
    const auto key = limited_key(hosts.redis, 10);
    // The key record, the limiter, and the strike that may cause the ban.
    const auto cost = measure(hosts, hosts.storm(key), 3);
    CHECK(with(cost.answers, 200, "") == 10);
    CHECK(with(cost.answers, 429, "rate_limit_exceeded") >= 100);
    CHECK(with(cost.answers, 429, "rate_limit_exceeded")
              + with(cost.answers, 429, "api_key_banned")
          == kStorm - 10);
    CHECK(with(cost.answers, 429, "api_key_banned") > kStorm * 9 / 10);
    CHECK(used(hosts.redis, key, "minute") == 10);
    CHECK(used(hosts.redis, key, "bans") == 1);
}

TEST_CASE("limits storm: of unknown keys")
{
    Hosts hosts(1);
    const auto key = limited_key(hosts.redis, 10);
    REQUIRE(ctl(hosts.redis.url(), {"key", "delete", key.id}).code == 0);
    const auto cost = measure(hosts, hosts.storm(key), 1);
    CHECK(with(cost.answers, 401, "invalid_api_key") == kStorm);
}

TEST_CASE("limits storm: a script that Redis does not know is sent once")
{
    Hosts hosts(1);
    const auto& redis = hosts.redis;
    std::vector<Key> keys;
    std::vector<Http> clients;
    for (int i = 0; i < 40; ++i) {
        keys.push_back(limited_key(redis, 1));
        clients.emplace_back(hosts.nginx[0]->url(), keys.back().secret);
    }
    const auto before = command_counts(redis)["eval"];
    for (auto& client : clients) {
        CHECK(client.get("/v1/pets").status == 200);
        CHECK(client.get("/v1/pets").status == 429);
    }
    // Each worker reports its denials together.
    CHECK(wait_until([&] {
        return std::all_of(keys.begin(), keys.end(), [&](const Key& key) {
            return used(redis, key, "strikes") == 1;
        });
    }));
    constexpr int kWorkers = 2;
    constexpr int kScripts = 5;
    CHECK(command_counts(redis)["eval"] - before <= kWorkers * kScripts);
}

TEST_CASE("limits storm: what requests leave in Redis expires")
{
    NginxOptions options;
    options.location = "petstore_ban threshold=20 duration=5s;";
    Hosts hosts(2, options);
    std::vector<Key> keys;
    for (int i = 0; i < 5; ++i) {
        keys.push_back(limited_key(hosts.redis, 10 + i, 100));
        hosts.storm(keys.back()).run(500);
    }
    // A key over its limit but below the ban threshold, and one below both.
    keys.push_back(limited_key(hosts.redis, 10));
    hosts.storm(keys.back()).run(20);
    keys.push_back(limited_key(hosts.redis, 10));
    hosts.storm(keys.back()).run(5);
    // Workers report refusals within a second.
    CHECK(wait_until(
        [&] { return used(hosts.redis, keys[5], "strikes") == 10; }));

    std::map<std::string, int> seen;
    const auto all = hosts.redis.command({"KEYS", "*"});
    for (const auto& item : all.items) {
        const auto& name = item.text;
        const auto ttl = hosts.redis.command({"PTTL", name}).integer;
        INFO(name << " " << ttl);
        const auto what = name.substr(name.rfind(':') + 1);
        if (!contains(name, "{") || what == "keys") {
            continue;  // key records and an account's list of keys remain
        }
        ++seen[what];
        CHECK(ttl > 0);
        if (what == "strikes") {
            CHECK(ttl <= 60'000);
        } else if (what == "bans") {
            CHECK(ttl <= 86'400'000);
        } else if (what == "state") {
            CHECK(ttl > 430LL * 86'400'000);  // it contains the day's usage
            CHECK(ttl <= 431LL * 86'400'000 + 5000);
        } else {
            CHECK(contains(name, ":usage:"));
            CHECK(ttl <= 431LL * 86'400'000);
        }
    }
    CHECK(seen["state"] == 7);
    CHECK(seen["bans"] == 5);
    CHECK(seen["strikes"] >= 1);

    // What accounts leave in Redis when their keys are deleted expires.
    for (const auto& key : keys) {
        REQUIRE(ctl(hosts.redis.url(), {"key", "delete", key.id}).code == 0);
    }
    for (const auto& item : hosts.redis.command({"KEYS", "*"}).items) {
        INFO(item.text);
        if (item.text == "petstore:limits"
            || item.text == "petstore:accounts") {
            continue;  // the store's format, and the index of accounts
        }
        const auto ttl = hosts.redis.command({"PTTL", item.text}).integer;
        CHECK(ttl > 0);
        CHECK(ttl <= 431LL * 86'400'000);
    }
}
