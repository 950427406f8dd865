// Moves a running store's limits to a second Redis and back.
#include <atomic>
#include <thread>

#include "chaos/cut_redis.h"
#include "support/two_redis.h"

using namespace petstore::e2e;

namespace {

// Hosts with one Redis that change to two and back.
struct Fleet {
    explicit Fleet(const TwoRedis& redis, int count) : redis_(redis)
    {
        one_ = host_options({});
        one_.redis = redis.main.url();
        two_ = redis.with(host_options({}));
        for (int i = 0; i < count; ++i) {
            hosts.push_back(std::make_unique<NginxServer>(one_));
        }
    }

    void use_two(std::size_t host) { use(host, two_); }
    void use_one(std::size_t host) { use(host, one_); }

    std::vector<std::unique_ptr<NginxServer>> hosts;

private:
    void use(std::size_t host, const NginxOptions& options)
    {
        hosts[host]->change(options);
        hosts[host]->reload_and_settle();
    }

    const TwoRedis& redis_;
    NginxOptions one_;
    NginxOptions two_;
};

// Clients that continuously send requests with one key to all hosts, and count
// the responses.
class Traffic {
public:
    Traffic(const Fleet& fleet, const Key& key)
    {
        for (const auto& host : fleet.hosts) {
            for (int i = 0; i < 2; ++i) {
                threads_.emplace_back(
                    [this, url = host->url(), secret = key.secret] {
                        Http http(url, secret);
                        http.tolerate_failures();
                        while (!ending_) {
                            count(http.get("/v1/nowhere").status);
                        }
                    });
            }
        }
    }
    ~Traffic() { end(); }

    void end()
    {
        ending_ = true;
        for (auto& thread : threads_) {
            if (thread.joinable()) {
                thread.join();
            }
        }
    }

    long long admitted() const { return admitted_; }
    long long unavailable() const { return unavailable_; }
    long long unauthorized() const { return unauthorized_; }

private:
    void count(int status)
    {
        admitted_ += status == 404;
        unavailable_ += status == 503;
        unauthorized_ += status == 401;
    }

    std::atomic<bool> ending_{false};
    std::atomic<long long> admitted_{0};
    std::atomic<long long> unavailable_{0};
    std::atomic<long long> unauthorized_{0};
    std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE("two redis: limits move under traffic and back")
{
    constexpr long long kLimit = 100'000'000;
    TwoRedis redis;
    const auto key = create_key(redis.main);
    std::vector<Key> others;
    for (int i = 0; i < 5; ++i) {
        others.push_back(create_key(redis.main));
    }
    Fleet fleet(redis, 2);
    for (const auto& other : others) {
        CHECK(Http(fleet.hosts[0]->url(), other.secret).get("/v1/pets").status
              == 200);
    }
    const auto move = [&](const char* direction) {
        const auto moved = redis.ctl({"limits", direction, "--json"});
        INFO(moved.err);
        REQUIRE(moved.code == 0);
        return nlohmann::json::parse(moved.out).at("accounts").get<int>();
    };
    // Every admitted request is counted on the Redis that now has the account,
    // and the end of the day window has not changed.
    const auto check_counts = [&](const RedisServer& there,
                                  const RedisServer& gone, long long admitted,
                                  long long day_end) {
        CHECK(used(there, key, "day") == admitted);
        CHECK(number_of(there, key, Number::day_end) == day_end);
        CHECK(gone.command({"KEYS", "petstore:{????????????????}:*"})
                  .items.empty());
        for (const auto& other : others) {
            CHECK(used(there, other, "day") >= 1);
        }
    };

    Traffic traffic(fleet, key);
    const auto more = [&] {
        const auto before = traffic.admitted();
        return wait_until([&] { return traffic.admitted() > before + 50; });
    };
    REQUIRE(more());
    const auto day_end = number_of(redis.main, key, Number::day_end);
    CHECK(move("move") == 6);
    // A host refuses requests until it is reloaded.
    const auto refused = traffic.unavailable();
    REQUIRE(wait_until([&] { return traffic.unavailable() > refused; }));
    fleet.use_two(0);
    REQUIRE(more());
    fleet.use_two(1);
    REQUIRE(more());
    traffic.end();
    check_counts(redis.limits, redis.main, traffic.admitted(), day_end);
    CHECK(limits_marker(redis.main) == "elsewhere");
    CHECK(limits_marker(redis.limits) == "here");
    CHECK(move("move") == 0);

    Traffic back(fleet, key);
    REQUIRE(wait_until([&] { return back.admitted() > 50; }));
    CHECK(move("return") == 6);
    fleet.use_one(1);
    const auto before = back.admitted();
    REQUIRE(wait_until([&] { return back.admitted() > before + 50; }));
    fleet.use_one(0);
    back.end();
    check_counts(redis.main, redis.limits, traffic.admitted() + back.admitted(),
                 day_end);
    CHECK(limits_marker(redis.main) == "here");
    CHECK(move("return") == 0);
    CHECK(traffic.unauthorized() + back.unauthorized() == 0);
    CHECK(traffic.admitted() < kLimit);
    CHECK(ctl(redis.main.url(), {"key", "disable", key.id}).code == 0);
    CHECK(Http(fleet.hosts[0]->url(), key.secret).get("/v1/pets").status
          == 401);
}

TEST_CASE("two redis: a limit is not exceeded by the move")
{
    TwoRedis redis;
    const auto key = limited_key(redis.main, 100'000, 2000);
    Fleet fleet(redis, 2);
    Traffic traffic(fleet, key);
    REQUIRE(wait_until([&] { return traffic.admitted() > 500; }));
    REQUIRE(redis.ctl({"limits", "move"}).code == 0);
    fleet.use_two(1);
    fleet.use_two(0);
    REQUIRE(wait_until([&] { return traffic.admitted() >= 2000; }));
    REQUIRE(wait_until([&] {
        return Http(fleet.hosts[0]->url(), key.secret).get("/v1/nowhere").status
               == 429;
    }));
    traffic.end();
    CHECK(traffic.admitted() == 2000);
}

TEST_CASE("two redis: an interrupted move is completed by the next")
{
    TwoRedis redis;
    std::vector<Key> keys;
    NginxOptions one;
    one.redis = redis.main.url();
    NginxServer nginx(one);
    for (int i = 0; i < 4; ++i) {
        keys.push_back(create_key(redis.main));
        CHECK(Http(nginx.url(), keys.back().secret).get("/v1/pets").status
              == 200);
    }
    redis.main.command(
        {"SET", account_key(keys[0], "bans"), "2", "EX", "1000"});
    // The state left by a killed petstorectl: one account was renamed, another
    // one also copied.
    const auto value = [](const RedisServer& from, const std::string& name) {
        return from.command({"GET", name}).text;
    };
    const auto rename = [&](const Key& key) {
        redis.main.command(
            {"RENAME", account_key(key, "state"), account_key(key, "moving")});
    };
    redis.main.command({"SET", kLimitsMarker, "elsewhere abc"});
    redis.limits.command({"SET", kLimitsMarker, "elsewhere abc"});
    rename(keys[0]);
    rename(keys[1]);
    redis.limits.command({"SET", account_key(keys[1], "state"),
                          value(redis.main, account_key(keys[1], "moving")),
                          "EX", "1000"});
    set_number(redis.limits, keys[1], Number::day, 7);  // used since
    check_fails(redis.ctl({"key", "disable", keys[0].id}),
                "not moved completely");
    expect_error(Http(nginx.url(), keys[0].secret).get("/v1/pets"), 503,
                 "service_unavailable");

    std::string there = "limits";
    SECTION("in the same direction")
    {
        REQUIRE(redis.ctl({"limits", "move"}).code == 0);
        CHECK(limits_marker(redis.limits) == "here");
    }
    SECTION("in the other direction")
    {
        REQUIRE(redis.ctl({"limits", "return"}).code == 0);
        CHECK(limits_marker(redis.main) == "here");
        there = "main";
    }
    const auto& with = there == "main" ? redis.main : redis.limits;
    const auto& without = there == "main" ? redis.limits : redis.main;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        CHECK(used(with, keys[i], "day") == (i == 1 ? 7 : 1));
        CHECK(with.command({"PTTL", account_key(keys[i], "state")}).integer
              > 0);
    }
    CHECK(used(with, keys[0], "bans") == 2);
    CHECK(left(with, keys[0], "bans") > 900'000);
    for (const auto* redis : {&with, &without}) {
        CHECK(redis->command({"KEYS", "*:moving"}).items.empty());
    }
    CHECK(without.command({"KEYS", "*:state"}).items.empty());
}

// Whichever command is the last before the interruption, what it had copied is
// not taken for the account's history by a later move.
TEST_CASE("two redis: an undone move leaves no history behind")
{
    TwoRedis redis;
    const auto key = create_key(redis.main);
    redis.charge_main(key);
    CutRedis cut(redis.limits);
    const auto history = [&](const RedisServer& on, const char* name) {
        return on.command({"EXISTS", account_key(key, name)}).integer;
    };
    bool copied = false;
    int number = 0;
    do {
        cut.cut_at(++number, CutRedis::How::before);
        INFO("cut at command " << number);
        redis.main.command(
            {"SET", account_key(key, "bans"), "5", "EX", "80000"});
        redis.main.command(
            {"SET", account_key(key, "strikes"), "3", "EX", "80000"});
        const auto moved = ctl(redis.main.url(),
                               {"--limit-redis", cut.url(), "limits", "move"});
        REQUIRE((moved.code == 0) == !cut.was_cut());
        copied = copied
                 || (history(redis.limits, "bans") == 1
                     && history(redis.limits, "state") == 0);

        // Where it was cut before it began, there is nothing to return.
        REQUIRE(redis.ctl({"limits", "return"}).code == 0);
        CHECK(used(redis.main, key, "day") == 1);
        CHECK(history(redis.main, "bans") == 1);
        CHECK(history(redis.main, "strikes") == 1);
        REQUIRE(ctl(redis.main.url(), {"key", "unban", key.id}).code == 0);

        REQUIRE(redis.ctl({"limits", "move"}).code == 0);
        CHECK(history(redis.limits, "bans") == 0);
        CHECK(history(redis.limits, "strikes") == 0);
        CHECK(history(redis.limits, "state") == 1);
        REQUIRE(redis.ctl({"limits", "return"}).code == 0);
    } while (cut.was_cut());
    CHECK(copied);
}

TEST_CASE("two redis: a move removes what the other Redis has of an account")
{
    TwoRedis redis;
    const auto key = create_key(redis.main);
    const auto gone = create_key(redis.main);
    redis.charge_main(key);
    const auto state =
        redis.main.command({"GET", account_key(key, "state")}).text;
    // The state left by a move that was killed after it had copied an account,
    // which workers used since. Another account has lost its state.
    const auto interrupt = [&] {
        for (const auto* on : {&redis.main, &redis.limits}) {
            on->command({"SET", kLimitsMarker, "elsewhere abc"});
            for (const auto* of : {&key, &gone}) {
                on->command({"DEL", account_key(*of, "state"),
                             account_key(*of, "moving")});
            }
        }
        redis.main.command(
            {"SET", account_key(key, "moving"), state, "EX", "90000"});
        redis.limits.command(
            {"SET", account_key(key, "state"), state, "EX", "90000"});
        set_number(redis.limits, key, Number::day, 7);
        for (const auto* of : {&key, &gone}) {
            for (const char* name : {"bans", "strikes"}) {
                redis.main.command(
                    {"SET", account_key(*of, name), "5", "EX", "80000"});
            }
        }
    };

    CutRedis cut(redis.main);
    bool taken = false;
    int number = 0;
    do {
        interrupt();
        cut.cut_at(++number, CutRedis::How::before);
        INFO("cut at command " << number);
        const auto returned =
            ctl(cut.url(),
                {"--limit-redis", redis.limits.url(), "limits", "return"});
        REQUIRE((returned.code == 0) == !cut.was_cut());
        taken = taken
                || redis.limits.command({"EXISTS", account_key(key, "moving")})
                           .integer
                       == 1;

        REQUIRE(redis.ctl({"limits", "move"}).code == 0);
        CHECK(used(redis.limits, key, "day") == 7);
        REQUIRE(redis.ctl({"limits", "return"}).code == 0);
        CHECK(used(redis.main, key, "day") == 7);
        for (const auto* of : {&key, &gone}) {
            for (const char* name : {"bans", "strikes"}) {
                CHECK(redis.main.command({"EXISTS", account_key(*of, name)})
                          .integer
                      == 0);
            }
        }
    } while (cut.was_cut());
    CHECK(taken);
}
