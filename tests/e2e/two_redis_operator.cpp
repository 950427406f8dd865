// petstorectl with a second Redis for the limits, and the move to it.
#include <atomic>
#include <thread>

#include "support/two_redis.h"

using namespace petstore::e2e;

namespace {

using Arguments = std::vector<std::string>;

constexpr char kMarker[] = "petstore:limits";

void check_fails(const Output& output, const std::string& message)
{
    INFO(output.err);
    CHECK(output.code == 1);
    CHECK(output.out.empty());
    CHECK(contains(output.err, message));
}

std::string marker(const RedisServer& redis)
{
    const auto text = redis.command({"GET", kMarker}).text;
    return text.substr(0, text.find(' '));
}

// Hosts with one Redis; all(…) changes them to two, or back.
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

// Clients that send requests with one key to all hosts until the end, and count
// the answers.
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

TEST_CASE("two redis: petstorectl remembers where the limits are")
{
    TwoRedis redis;
    const auto key = redis.create_key();
    CHECK(marker(redis.main) == "elsewhere");
    CHECK(marker(redis.limits) == "here");

    // Without the option nothing is changed or shown.
    for (const auto& command : {Arguments{"key", "create"},
                                {"key", "list"},
                                {"key", "show", key.id},
                                {"key", "disable", key.id},
                                {"key", "unban", key.id},
                                {"key", "usage", key.id},
                                {"key", "delete", key.id},
                                {"key", "rotate", key.id}}) {
        check_fails(ctl(redis.main.url(), command), "--limit-redis");
    }
    // What concerns pets only needs no limits.
    CHECK(ctl(redis.main.url(), {"pet", "import", "-"},
              "{\"name\":\"a\",\"categoryId\":1}\n")
              .code
          == 0);
    CHECK(ctl(redis.main.url(), {"cache", "clear"}).code == 0);

    // The option, or the variable.
    CHECK(redis.ctl({"key", "show", key.id}).code == 0);
    CHECK(
        run({ctl_binary(), "--redis", redis.main.url(), "key", "usage", key.id},
            "", {{"PETSTORE_LIMIT_REDIS", redis.limits.url()}})
            .code
        == 0);
    // Another prefix is another store.
    CHECK(ctl(redis.main.url(), {"--prefix", "other", "key", "list"}).code
          == 0);

    // A wrong one.
    RedisServer wrong;
    const Arguments disable{"key", "disable", key.id};
    const auto with = [&](const std::string& limits) {
        return ctl(redis.main.url(),
                   {"--limit-redis", limits, "key", "disable", key.id});
    };
    check_fails(with(wrong.url()), "does not have the limits of this store");
    check_fails(with(redis.main.tcp_url()), "not moved completely");
    check_fails(with(redis.main.url()), "--limit-redis");
    wrong.command({"SET", kMarker, "here other-id"});
    check_fails(with(wrong.url()), "limits of another store");
    wrong.command({"SET", kMarker, "nonsense"});
    check_fails(with(wrong.url()), "damaged");
    CHECK(with(redis.limits.tcp_url()).code == 0);
    CHECK(with("nonsense").code == 2);
}

TEST_CASE("two redis: petstorectl does not mix a store of one with another")
{
    RedisServer one;
    RedisServer other;
    const auto key = create_key(one);
    check_fails(ctl(one.url(),
                    {"--limit-redis", other.url(), "key", "disable", key.id}),
                "petstorectl limits move");
    CHECK(other.command({"DBSIZE"}).integer == 0);
    CHECK(one.command({"EXISTS", kMarker}).integer == 0);
    // The same Redis is one, by the same URL …
    CHECK(ctl(one.url(), {"--limit-redis", one.url(), "key", "disable", key.id})
              .code
          == 0);
    // … and by another it is noticed.
    RedisServer empty;
    check_fails(
        ctl(empty.url(), {"--limit-redis", empty.tcp_url(), "key", "create"}),
        "same database");
    check_fails(
        ctl(one.url(), {"--limit-redis", one.tcp_url(), "limits", "move"}),
        "same database");
    CHECK(one.command({"EXISTS", kMarker}).integer == 0);
    CHECK(ctl(one.url(), {"limits", "move"}).code == 2);
}

TEST_CASE("two redis: passwords of petstorectl")
{
    RedisServer main({"requirepass main-secret"});
    RedisServer limits({"requirepass limit-secret"});
    TempDir dir;
    write_file(dir / "main", "main-secret\n");
    write_file(dir / "limits", "limit-secret\n");
    const auto create = [&](Arguments more) {
        more.insert(more.begin(),
                    {"--limit-redis", limits.url(), "key", "create", "--json"});
        return ctl(main.url(), more);
    };
    const auto made = create({"--password-file", dir / "main",
                              "--limit-password-file", dir / "limits"});
    INFO(made.err);
    REQUIRE(made.code == 0);
    remember_secret(nlohmann::json::parse(made.out).at("key"));
    CHECK(create({"--password-file", dir / "main"}).code == 1);
    CHECK(create({"--password-file", dir / "main", "--limit-password-file",
                  dir / "none"})
              .code
          == 1);
}

TEST_CASE("two redis: doctor examines both")
{
    TwoRedis redis;
    const auto key = redis.create_key();
    const auto verdicts = [&](const Output& output) {
        std::map<std::string, std::string> found;
        for (const auto& finding : nlohmann::json::parse(output.out)) {
            found[finding.at("check")] = finding.at("verdict");
        }
        return found;
    };
    auto found = verdicts(redis.ctl({"doctor", "--json"}));
    CHECK(found.at("version") == "ok");
    CHECK(found.at("limit-redis version") == "ok");
    CHECK(found.at("limit-redis maxmemory-policy") == "ok");
    CHECK(found.at("limits") == "ok");

    redis.limits.command({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
    const auto evicting = redis.ctl({"doctor", "--json"});
    CHECK(evicting.code == 1);
    CHECK(verdicts(evicting).at("limit-redis maxmemory-policy") == "wrong");

    const auto without = ctl(redis.main.url(), {"doctor", "--json"});
    CHECK(without.code == 1);
    CHECK(verdicts(without).at("limits") == "wrong");
}

TEST_CASE("two redis: the access rules of the documentation suffice")
{
    TwoRedis redis;
    const auto text =
        read_file(std::string(E2E_SUPPORT) + "/../../../docs/redis-keys.md");
    // The block with this user, as it is.
    const auto rules_of = [&](const std::string& user) {
        const auto start = text.find("ACL SETUSER " + user + " ");
        REQUIRE(start != std::string::npos);
        auto block = text.substr(start, text.find("```", start) - start);
        replace_all(block, "\n", " ");
        replace_all(block, ">PASSWORD", ">pw");
        Words words;
        for (const auto& word : split(block, ' ')) {
            if (!word.empty()) {
                words.push_back(word);
            }
        }
        return words;
    };
    REQUIRE(redis.main.command(rules_of("petstore-main")).text == "OK");
    REQUIRE(redis.limits.command(rules_of("petstore-limits")).text == "OK");
    const auto url = [](const std::string& user, const RedisServer& server) {
        return "redis://" + user + ":pw@" + server.address();
    };
    NginxOptions options;
    options.redis = url("petstore-main", redis.main);
    options.http =
        "petstore_limit_redis " + url("petstore-limits", redis.limits) + ";";
    options.location = "petstore_ban threshold=3;";
    NginxServer nginx(options);
    const auto key = redis.create_key();
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").body == "[]");
    const std::string pet = "{\"name\":\"n\",\"categoryId\":1}";
    CHECK(http.post("/v1/pets", pet).status == 201);
    for (int i = 0; i < 2; ++i) {
        CHECK(http.post("/v1/pets", pet, {{"Idempotency-Key", "k"}}).status
              == 201);
    }
    CHECK(http.get("/v1/pets").json().size() == 2);
    CHECK(http.get("/v1/pets?status=available").json().size() == 2);
    CHECK(http.get("/v1/pets/2").status == 200);
    const auto limited = redis.limited_key(1);
    Http denied(nginx.url(), limited.secret);
    REQUIRE(wait_until(
        [&] { return code_of(denied.get("/v1/pets")) == "api_key_banned"; }));
    // A clock that was set back also moves the end of the ban.
    const auto day = 86'400'000LL;
    set_number(redis.limits, limited, Number::day_end,
               redis_millis(redis.limits) + 3 * day);
    REQUIRE(wait_until([&] {
        denied.get("/v1/pets");
        return number_of(redis.limits, limited, Number::day_end)
               <= redis_millis(redis.limits) + day;
    }));
    CHECK_FALSE(contains(nginx.error_log(), "NOPERM"));
    CHECK_FALSE(contains(nginx.error_log(), "[error]"));

    // petstorectl's are those of one Redis, on both.
    auto rules = rules_of("petstore");
    const auto start = text.find("    +exists +persist");
    for (const auto& line :
         split(text.substr(start, text.find("```", start) - start), '\n')) {
        for (const auto& word : split(line, ' ')) {
            if (!word.empty()) {
                rules.push_back(word);
            }
        }
    }
    for (const auto* server : {&redis.main, &redis.limits}) {
        REQUIRE(server->command(rules).text == "OK");
    }
    const auto does = [&](Arguments arguments) {
        arguments.insert(arguments.begin(),
                         {"--limit-redis", url("petstore", redis.limits)});
        const auto result = ctl(url("petstore", redis.main), arguments);
        INFO(arguments.back() << ": " << result.err);
        CHECK(result.code == 0);
    };
    does({"key", "usage", key.id});
    does({"key", "unban", limited.id});
    does({"key", "disable", key.id});
    does({"limits", "return"});
    does({"limits", "move"});
    does({"key", "list"});
    does({"doctor"});
}

TEST_CASE("two redis: a host with one Redis gets no second budget")
{
    TwoRedis redis;
    const auto key = redis.create_key();
    NginxOptions forgotten;
    forgotten.redis = redis.main.url();
    NginxServer nginx(forgotten);
    Http http(nginx.url(), key.secret);
    for (int i = 0; i < 3; ++i) {
        expect_error(http.get("/v1/pets"), 503, "service_unavailable");
    }
    CHECK(contains(nginx.error_log(), "[error]"));
    CHECK(contains(nginx.error_log(), "the counters were moved"));
    CHECK(redis.main.command({"KEYS", "*:state"}).items.empty());
}

TEST_CASE("two redis: the move under traffic, and the way back")
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
    // Every request that was admitted is counted on the Redis that now has the
    // account, and the end of the day window has not moved.
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
    // Until its reload, a host refuses.
    const auto refused = traffic.unavailable();
    REQUIRE(wait_until([&] { return traffic.unavailable() > refused; }));
    fleet.use_two(0);
    REQUIRE(more());
    fleet.use_two(1);
    REQUIRE(more());
    traffic.end();
    check_counts(redis.limits, redis.main, traffic.admitted(), day_end);
    CHECK(marker(redis.main) == "elsewhere");
    CHECK(marker(redis.limits) == "here");
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
    CHECK(redis.main.command({"EXISTS", kMarker}).integer == 0);
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
        return Http(fleet.hosts[0]->url(), key.secret).get("/shop").status
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
    // As petstorectl would be killed: one account was renamed, one copied too.
    const auto value = [](const RedisServer& from, const std::string& name) {
        return from.command({"GET", name}).text;
    };
    const auto rename = [&](const Key& key) {
        redis.main.command(
            {"RENAME", account_key(key, "state"), account_key(key, "moving")});
    };
    redis.main.command({"SET", kMarker, "elsewhere abc"});
    redis.limits.command({"SET", kMarker, "elsewhere abc"});
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
        CHECK(marker(redis.limits) == "here");
    }
    SECTION("in the other direction")
    {
        REQUIRE(redis.ctl({"limits", "return"}).code == 0);
        CHECK(redis.main.command({"EXISTS", kMarker}).integer == 0);
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

TEST_CASE("two redis: a limit Redis that was emptied has to be confirmed")
{
    TwoRedis redis;
    const auto key = redis.create_key();
    redis.limits.command({"FLUSHALL"});
    check_fails(redis.ctl({"key", "disable", key.id}), "has lost its data");
    REQUIRE(redis.ctl({"limits", "move"}).code == 0);
    CHECK(redis.ctl({"key", "disable", key.id}).code == 0);
}
