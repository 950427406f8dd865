// docs/limits.md, "Plans": which of the sources applies, and that a change in
// Redis takes effect on every worker within two seconds.
#include <nlohmann/json.hpp>

#include "support/limits.h"

using namespace petstore::e2e;

namespace {

constexpr auto kInEffect = 2s;

NginxOptions with_gold(const std::string& limits)
{
    NginxOptions options;
    options.http = "petstore_ban off; petstore_plan gold " + limits + ";";
    return options;
}

std::string limit_of(const Response& response)
{
    return response.header("x-ratelimit-limit");
}

// All clients see this limit by the time that a change must be in effect.
bool see(std::vector<Http>& clients, const std::string& limit)
{
    return kept_by(Clock::now() + kInEffect, [&] {
        for (auto& client : clients) {
            if (limit_of(client.get("/v1/pets")) != limit) {
                return false;
            }
        }
        return true;
    });
}

Output plan(const RedisServer& redis, std::vector<std::string> arguments)
{
    arguments.insert(arguments.begin(), "plan");
    return ctl(redis.url(), std::move(arguments));
}

void set_plan(const RedisServer& redis, const std::string& name,
              const std::string& minute, const std::string& day)
{
    const auto set =
        plan(redis, {"set", name, "--per-minute", minute, "--per-day", day});
    INFO(set.err);
    REQUIRE(set.code == 0);
}

// The plan's object in `plan list`; null if there is none.
nlohmann::json listed(const RedisServer& redis, const std::string& name)
{
    const auto list = plan(redis, {"list", "--json"});
    INFO(list.err);
    REQUIRE(list.code == 0);
    for (const auto& one : nlohmann::json::parse(list.out)) {
        if (one.at("name") == name) {
            return one;
        }
    }
    return nullptr;
}

nlohmann::json plan_object(const std::string& name, long long minute,
                           long long day, const std::string& source)
{
    return {{"name", name},
            {"per_minute", minute},
            {"per_day", day},
            {"per_month", nullptr},
            {"source", source}};
}

std::string error_code(const Output& output)
{
    const auto start = output.err.rfind("{\"code\"");
    return start == std::string::npos
               ? ""
               : nlohmann::json::parse(output.err.substr(start)).at("code");
}

// Two hosts with two workers each, a key with the plan gold, and a client of
// each worker, all of which have the key cached.
struct Team {
    explicit Team(const std::vector<std::string>& redis_config = {})
        : hosts(2, with_gold("minute=1000 day=100000"), redis_config),
          key(create_key(hosts.redis, {"--plan", "gold"})),
          clients(one_per_worker(hosts))
    {
        REQUIRE(clients.size() == 4);
        for (auto& client : clients) {
            client.use_key(key.secret);
            CHECK(limit_of(client.get("/v1/pets")) == "1000");
        }
    }

    Hosts hosts;
    Key key;
    std::vector<Http> clients;
};

}  // namespace

TEST_CASE("plans: a change in Redis reaches keys in use on all workers")
{
    Team team;
    set_plan(team.hosts.redis, "gold", "500", "100000");
    CHECK(see(team.clients, "500"));
    set_plan(team.hosts.redis, "gold", "600", "100000");
    CHECK(see(team.clients, "600"));
    // nginx.conf's again.
    REQUIRE(plan(team.hosts.redis, {"delete", "gold"}).code == 0);
    CHECK(see(team.clients, "1000"));
}

TEST_CASE("plans: the first request after a pause is limited by a new plan")
{
    Team team;
    set_plan(team.hosts.redis, "gold", "500", "100000");
    const auto end = Clock::now() + kInEffect;
    wait_until([&] { return Clock::now() >= end; });
    for (auto& client : team.clients) {
        CHECK(limit_of(client.get("/v1/pets")) == "500");
    }
}

TEST_CASE("plans: a larger plan ends denials from memory")
{
    Team team;
    set_plan(team.hosts.redis, "gold", "3", "100000");
    CHECK(kept_by(Clock::now() + kInEffect, [&] {
        return team.clients.front().get("/v1/pets").status == 429;
    }));
    set_plan(team.hosts.redis, "gold", "900", "100000");
    CHECK(kept_by(Clock::now() + kInEffect, [&] {
        return team.clients.front().get("/v1/pets").status == 200;
    }));
}

TEST_CASE("plans: Redis wins over nginx.conf, and that over what is built in")
{
    RedisServer redis;
    NginxOptions options;
    options.redis = redis.url();
    options.http = "petstore_plan business minute=222 day=100000;";
    NginxServer nginx(options);
    const auto limit = [&](const std::string& name) {
        const auto key = create_key(redis, {"--plan", name});
        return limit_of(Http(nginx.url(), key.secret).get("/v1/pets"));
    };
    CHECK(limit("pro") == "300");
    CHECK(limit("business") == "222");
    CHECK(limit("gold") == "60");  // unknown: free
    CHECK(listed(redis, "pro") == plan_object("pro", 300, 10'000, "built-in"));
    CHECK(listed(redis, "business")
          == plan_object("business", 222, 100'000, "nginx.conf"));
    CHECK(listed(redis, "gold").is_null());

    for (const std::string name : {"pro", "business", "gold"}) {
        set_plan(redis, name, "77", "7000");
        CHECK(listed(redis, name) == plan_object(name, 77, 7000, "redis"));
        CHECK(kept_by(Clock::now() + kInEffect,
                      [&] { return limit(name) == "77"; }));
    }
}

TEST_CASE("plans: where they may not be read, those of nginx.conf apply")
{
    RedisServer redis;
    redis.command({"ACL", "SETUSER", "worker", "on", ">pw", "~*", "+@all",
                   "-hscan", "-hset"});
    auto options = with_gold("minute=1000 day=100000");
    options.redis = "redis://worker:pw@" + redis.address();
    NginxServer nginx(options);
    const auto key = create_key(redis, {"--plan", "gold"});
    set_plan(redis, "gold", "500", "100000");
    std::vector<Http> clients;
    clients.emplace_back(nginx.url(), key.secret);
    const auto end = Clock::now() + 2 * kInEffect;
    while (Clock::now() < end) {
        CHECK(limit_of(clients.front().get("/v1/pets")) == "1000");
    }
    const auto log = nginx.error_log();
    INFO(log);
    CHECK(count_of(log, "[warn]") == 2);
    CHECK(count_of(log, "this user may not read the plans in Redis (NOPERM)")
          == 1);
    CHECK(count_of(log, "Redis refuses the plans that this host publishes")
          == 1);
    redis.command({"ACL", "SETUSER", "worker", "+@all"});
    CHECK(see(clients, "500"));
}

TEST_CASE("plans: while Redis is away the plans read last apply")
{
    Team team;
    set_plan(team.hosts.redis, "gold", "500", "100000");
    REQUIRE(see(team.clients, "500"));
    team.hosts.redis.stop();
    for (auto& client : team.clients) {
        const auto response = client.get("/v1/pets");
        CHECK(response.status == 503);
        CHECK(limit_of(response) == "500");
    }
    team.hosts.redis.lose_data();
    team.hosts.redis.start();
    const auto key = create_key(team.hosts.redis, {"--plan", "gold"});
    for (auto& client : team.clients) {
        client.use_key(key.secret);
        CHECK(wait_until(
            [&] { return limit_of(client.get("/v1/pets")) == "1000"; }));
    }
}

TEST_CASE("plans: damaged ones do not count, and are logged once")
{
    Team team;
    const auto& redis = team.hosts.redis;
    redis.command({"HSET", "petstore:plans", "gold", "many \x1b[2J", "tin",
                   "5 5000", "Bad\x1b[2J", "1 1"});
    const auto tin = create_key(redis, {"--plan", "tin"});
    std::vector<Http> clients;
    clients.emplace_back(http_url(team.hosts.nginx.front()->tls_port()),
                         tin.secret);
    CHECK(see(clients, "5"));
    CHECK(see(team.clients, "1000"));
    const auto list = plan(redis, {"list"});
    CHECK(list.code == 0);
    CHECK(contains(list.err, "Bad\\u001b[2J"));
    CHECK(contains(list.err, "the plan \"gold\" in Redis is damaged"));
    CHECK_FALSE(contains(list.out + list.err, "\x1b"));
    CHECK(listed(redis, "gold")
          == plan_object("gold", 1000, 100'000, "nginx.conf"));

    redis.command({"DEL", "petstore:plans"});
    redis.command({"SET", "petstore:plans", "x"});
    CHECK(see(clients, "60"));
    CHECK(plan(redis, {"list"}).code == 0);
    for (const auto& nginx : team.hosts.nginx) {
        const auto log = nginx->error_log();
        CHECK(count_of(log, "the Redis key petstore:plans is damaged") <= 2);
        CHECK_FALSE(contains(log, "\x1b"));
    }
    REQUIRE(plan(redis, {"delete", "gold"}).code == 1);
}

TEST_CASE("plans: there are at most 1,000 in Redis")
{
    RedisServer redis;
    Words all = {"HSET", "petstore:plans"};
    for (int i = 0; i < 999; ++i) {
        all.push_back("p" + std::to_string(i));
        all.emplace_back("11 1000");
    }
    redis.command(all);
    set_plan(redis, "last", "12", "1000");
    const auto more = plan(redis, {"set", "more", "--per-minute", "1",
                                   "--per-day", "1", "--json"});
    CHECK(more.code == 1);
    CHECK(error_code(more) == "too_many_plans");
    set_plan(redis, "last", "13", "1000");  // replaces one

    NginxOptions options;
    options.redis = redis.url();
    NginxServer nginx(options);
    std::vector<Http> clients;
    clients.emplace_back(nginx.url(),
                         create_key(redis, {"--plan", "last"}).secret);
    CHECK(limit_of(clients.front().get("/v1/pets")) == "13");
    clients.emplace_back(nginx.url(),
                         create_key(redis, {"--plan", "p998"}).secret);
    CHECK(limit_of(clients.back().get("/v1/pets")) == "11");

    // More than that: damage, which closes no connection.
    Words most = {"HSET", "petstore:plans"};
    for (int i = 0; i < 5000; ++i) {
        most.push_back("q" + std::to_string(i));
        most.emplace_back("11 1000");
    }
    redis.command(most);
    CHECK(see(clients, "60"));
    CHECK_FALSE(contains(nginx.error_log(), "protocol error"));
}

TEST_CASE("plans: a host publishes those of its configuration until it is gone")
{
    RedisServer redis;
    const auto published = [&] {
        return redis.command({"HGETALL", "petstore:hosts"}).items;
    };
    auto options = with_gold("minute=10 day=100");
    options.redis = redis.url();
    const auto check = NginxServer::check(options);
    INFO(check.err);
    CHECK(check.code == 0);
    CHECK(published().empty());
    {
        options.workers = 3;
        NginxServer nginx(options);
        CHECK(wait_until([&] { return published().size() == 2; }));
        CHECK(listed(redis, "gold")
              == plan_object("gold", 10, 100, "nginx.conf"));
        const auto ttl = redis.command({"PTTL", "petstore:hosts"}).integer;
        CHECK(ttl > 0);
        CHECK(ttl <= 180'000);

        // After a reload, the new configuration.
        options.http = with_gold("minute=20 day=100").http;
        nginx.change(options);
        nginx.reload_and_settle();
        CHECK(wait_until([&] {
            return listed(redis, "gold")
                   == plan_object("gold", 20, 100, "nginx.conf");
        }));
        CHECK(published().size() == 2);

        // After a lost connection.
        redis.command({"DEL", "petstore:hosts"});
        redis.command({"CLIENT", "KILL", "TYPE", "normal"});
        CHECK(wait_until([&] { return published().size() == 2; }));
    }
    const auto entry = published();
    REQUIRE(entry.size() == 2);
    const auto space = entry[1].text.find(' ');
    const auto aged =
        std::to_string(redis_now(redis) - 181) + entry[1].text.substr(space);
    redis.command({"HSET", "petstore:hosts", entry[0].text, aged});
    CHECK(listed(redis, "gold").is_null());
    // The next host to publish removes it.
    NginxServer other(options);
    CHECK(wait_until([&] {
        return !listed(redis, "gold").is_null() && published().size() == 2;
    }));
}

TEST_CASE("plans: hosts that differ are reported")
{
    RedisServer redis;
    auto options = with_gold("minute=10 day=100");
    options.redis = redis.url();
    NginxServer one(options);
    options.http = with_gold("minute=20 day=100").http;
    NginxServer two(options);
    const auto warned = [&](const Output& output) {
        return contains(output.out + output.err, "10 per minute, 100 per day")
               && contains(output.out + output.err,
                           "20 per minute, 100 per day");
    };
    CHECK(wait_until([&] { return warned(plan(redis, {"list"})); }));
    const auto doctor = ctl(redis.url(), {"doctor"});
    CHECK(warned(doctor));
    CHECK(contains(doctor.out, "/nginx.conf"));

    set_plan(redis, "gold", "30", "300");
    CHECK_FALSE(warned(plan(redis, {"list"})));
    CHECK(contains(ctl(redis.url(), {"doctor"}).out,
                   "Redis overrides nginx.conf"));
}

TEST_CASE("plans: a plan in use is deleted only if something else defines it")
{
    RedisServer redis;
    set_plan(redis, "gold", "10", "100");
    set_plan(redis, "pro", "10", "100");
    const auto key = create_key(redis, {"--plan", "gold"});
    create_key(redis, {"--plan", "pro"});
    const auto refused = plan(redis, {"delete", "gold", "--json"});
    CHECK(refused.code == 1);
    CHECK(error_code(refused) == "plan_in_use");
    CHECK(listed(redis, "gold") == plan_object("gold", 10, 100, "redis"));
    CHECK(plan(redis, {"delete", "pro"}).code == 0);
    CHECK(listed(redis, "pro").at("source") == "built-in");
    CHECK(plan(redis, {"delete", "pro"}).code == 3);
    CHECK(error_code(plan(redis, {"delete", "no", "--json"})) == "not_found");
    REQUIRE(ctl(redis.url(), {"key", "delete", key.id, "--yes"}).code == 0);
    CHECK(plan(redis, {"delete", "gold"}).code == 0);
    CHECK(listed(redis, "gold").is_null());
}

TEST_CASE("plans: an invalid plan is a usage error")
{
    RedisServer redis;
    using Arguments = std::vector<std::string>;
    for (const Arguments& wrong :
         {Arguments{"set", "gold"},
          Arguments{"set", "gold", "--per-minute", "1"},
          Arguments{"set", "Gold", "--per-minute", "1", "--per-day", "1"},
          Arguments{"set", "gold", "--per-minute", "0", "--per-day", "1"},
          Arguments{"set", "gold", "--per-minute", "1", "--per-day", "x"},
          Arguments{"set", "gold", "--per-minute", "1", "--per-day", "1",
                    "--per-month", "0"},
          Arguments{"set", "gold", "--per-minute", "1000000000001", "--per-day",
                    "1"},
          Arguments{"delete"}}) {
        CHECK(plan(redis, wrong).code == 2);
    }
    CHECK(redis.command({"EXISTS", "petstore:plans"}).integer == 0);
    const auto odd =
        plan(redis, {"set", "gold", "--per-minute", "9", "--per-day", "8",
                     "--per-month", "7", "--json"});
    CHECK(odd.code == 0);
    CHECK(contains(odd.err, "9 per minute exceeds that of 8 per day"));
    CHECK(contains(odd.err, "8 per day exceeds that of 7 per month"));
    CHECK(nlohmann::json::parse(odd.out)
          == nlohmann::json{{"name", "gold"},
                            {"per_minute", 9},
                            {"per_day", 8},
                            {"per_month", 7},
                            {"source", "redis"}});
}
