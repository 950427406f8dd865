// Moves a running store from one Redis to a Cluster and back.
#include <atomic>
#include <set>
#include <thread>

#include "support/cluster_servers.h"
#include "support/two_redis.h"

using namespace petstore::e2e;

namespace {

using Arguments = std::vector<std::string>;
using Json = nlohmann::json;

Json json_of(const std::string& redis, Arguments arguments)
{
    arguments.push_back("--json");
    const auto result = ctl(redis, arguments);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return Json::parse(result.out);
}

// Keys with different numbers of used requests (the first one banned, the
// second disabled), pets, and an Idempotency-Key's record.
struct Filled {
    explicit Filled(const RedisServer& redis)
    {
        for (int i = 0; i < 20; ++i) {
            keys.push_back(create_key(redis));
            const auto& key = keys.back();
            set_number(redis, key, Number::minute, i + 1);
            set_number(redis, key, Number::day, 100 + i);
            end_in(redis, key, Number::minute_end, 3'600'000);
            end_in(redis, key, Number::day_end, 7'200'000);
        }
        end_in(redis, keys[0], Number::ban_end, 1'000'000);
        redis.command({"SET", account_key(keys[0], "bans"), "3", "EX", "5000"});
        redis.command(
            {"SET", account_key(keys[1], "strikes"), "9", "EX", "5000"});
        REQUIRE(ctl(redis.url(), {"key", "disable", keys[1].id}).code == 0);
        import_pets(redis, 300);
        redis.command({"SET", kIdempotency, "7:digest", "EX", "5000"});
    }

    static Json usage_of(const std::string& redis, const Key& key,
                         const Arguments& options = {})
    {
        Arguments arguments{"key", "usage", key.id};
        arguments.insert(arguments.end(), options.begin(), options.end());
        Json usage = json_of(redis, arguments);
        // Shown as a minute from now, because it ends later.
        usage["minute"].erase("reset");
        return usage;
    }

    // Everything that an operator can see of it.
    Json seen(const std::string& redis, const Arguments& options = {}) const
    {
        Json all;
        Arguments list{"key", "list"};
        list.insert(list.end(), options.begin(), options.end());
        all["keys"] = json_of(redis, list);
        for (const auto& key : keys) {
            all["usage"].push_back(usage_of(redis, key, options));
        }
        all["pets"] = ctl(redis, {"pet", "export"}).out;
        return all;
    }

    static constexpr char kIdempotency[] =
        "petstore:{petstore:pets}:idempotency:a:b";
    std::vector<Key> keys;
};

bool has_no_account(const RedisServer& redis)
{
    return redis.command({"KEYS", "petstore:{????????????????}:*"})
        .items.empty();
}

// Clients on all hosts that use up one key.
class Clients {
public:
    Clients(const std::vector<std::unique_ptr<NginxServer>>& hosts,
            const Key& key)
    {
        for (const auto& host : hosts) {
            threads_.emplace_back(
                [this, url = host->url(), secret = key.secret] {
                    Http http(url, secret);
                    http.tolerate_failures();
                    while (!ending_) {
                        take(http.post("/v1/pets",
                                       "{\"name\":\"new\",\"categoryId\":1}"));
                        take(http.get("/v1/nowhere"));
                    }
                });
        }
    }
    ~Clients() { end(); }

    void end()
    {
        ending_ = true;
        for (auto& thread : threads_) {
            if (thread.joinable()) {
                thread.join();
            }
        }
    }

    std::atomic<long long> admitted{0};
    std::atomic<long long> created{0};
    std::atomic<long long> refused_creates{0};  // admitted before the move
    std::atomic<long long> unauthorized{0};

private:
    void take(const Response& response)
    {
        admitted += response.status == 404 || response.status == 201;
        created += response.status == 201;
        refused_creates += response.status == 500;
        unauthorized += response.status == 401;
    }

    std::atomic<bool> ending_{false};
    std::vector<std::thread> threads_;
};

}  // namespace

TEST_CASE("cluster migration: the limits move to a Cluster and back")
{
    RedisServer main;
    const Filled store(main);
    ClusterServers cluster;
    const auto before = store.seen(main.url());
    const Arguments two{"--limit-redis", cluster.url()};
    const auto limits = [&](const std::string& direction) {
        return json_of(main.url(),
                       {"--limit-redis", cluster.url(), "limits", direction})
            .at("accounts");
    };
    CHECK(limits("move") == 20);
    CHECK(has_no_account(main));
    CHECK(store.seen(main.url(), two) == before);
    CHECK(limits("move") == 0);
    // With the limits in the Cluster, keys are changed only with --limit-redis.
    CHECK(ctl(main.url(), {"--limit-redis", cluster.url(), "key", "disable",
                           store.keys[2].id})
              .code
          == 0);
    CHECK(ctl(main.url(), {"--limit-redis", cluster.url(), "key", "enable",
                           store.keys[2].id})
              .code
          == 0);
    check_fails(ctl(main.url(), {"key", "create"}), "--limit-redis");
    check_fails(
        ctl(main.url(), {"--limit-redis", cluster.url_without("cluster|nodes"),
                         "limits", "return"}),
        "cluster|nodes", 4);
    CHECK(store.seen(main.url(), two) == before);
    CHECK(limits("return") == 20);
    CHECK(store.seen(main.url()) == before);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(has_no_account(cluster.server(i)));
    }
}

TEST_CASE("cluster migration: usage moves, also of an account without a state")
{
    RedisServer main;
    ClusterServers cluster;
    const auto key = create_key(main);
    const auto idle = create_key(main);
    const auto month = month_text(redis_now(main));
    const auto usage = [&](const Key& of) {
        return account_key(of, "usage:" + month);
    };
    for (const auto& of : {key, idle}) {
        main.command({"HSET", usage(of), "01", "5", "01d", "2"});
        main.command({"PEXPIRE", usage(of), "9000000000"});
    }
    main.command({"DEL", account_key(idle, "state")});

    const auto check = [&](auto& redis) {
        for (const auto& of : {key, idle}) {
            CHECK(redis.command({"HGET", usage(of), "01"}).text == "5");
            CHECK(redis.command({"HGET", usage(of), "01d"}).text == "2");
            CHECK(redis.command({"HLEN", usage(of)}).integer == 2);
            const auto left = redis.command({"PTTL", usage(of)}).integer;
            CHECK(left > 8'000'000'000);
            CHECK(left <= 9'000'000'000);
        }
    };
    const auto limits = [&](const std::string& direction) {
        return json_of(main.url(),
                       {"--limit-redis", cluster.url(), "limits", direction})
            .at("accounts");
    };
    CHECK(limits("move") == 2);
    check(cluster);
    CHECK(has_no_account(main));
    CHECK(limits("return") == 2);
    check(main);
    RedisServer other;
    CHECK(json_of(main.url(), {"move", "--to", other.url()}).at("accounts")
          == 2);
    check(other);
    CHECK(has_no_account(main));
}

TEST_CASE("cluster migration: a store moves to a Cluster and back")
{
    RedisServer single;
    const Filled store(single);
    ClusterServers cluster;
    const auto before = store.seen(single.url());
    const auto move = [](const std::string& from, const std::string& to) {
        return json_of(from, {"move", "--to", to});
    };
    const Json all = {{"accounts", 20}, {"keys", 20}, {"pets", 300}};
    CHECK(move(single.url(), cluster.url()) == all);
    CHECK(store.seen(cluster.url()) == before);
    CHECK(cluster.command({"GET", Filled::kIdempotency}).text == "7:digest");
    CHECK(cluster.command({"PTTL", Filled::kIdempotency}).integer > 4'000'000);
    CHECK(has_no_account(single));
    CHECK(move(single.url(), cluster.url()).at("keys") == 0);

    // Commands on the old Redis change nothing.
    for (const auto& command : {Arguments{"key", "create"},
                                {"key", "list"},
                                {"plan", "list"},
                                {"pet", "import", "-"},
                                {"pet", "set-status", "1", "sold"},
                                {"cache", "clear"}}) {
        check_fails(ctl(single.url(), command), "moved to another Redis");
    }
    check_fails(ctl(single.url(), {"--limit-redis", cluster.url(), "key",
                                   "disable", store.keys[2].id}),
                "moved to another Redis");

    // Moves back, including the changes made in between.
    CHECK(ctl(cluster.url(), {"key", "delete", store.keys[5].id}).code == 0);
    CHECK(ctl(cluster.url(), {"pet", "import", "-"},
              "{\"name\":\"a\",\"categoryId\":1}\n")
              .code
          == 0);
    const auto keys = json_of(cluster.url(), {"key", "list"});
    const auto pets = ctl(cluster.url(), {"pet", "export"}).out;
    CHECK(move(cluster.url(), single.url()).at("pets") == 301);
    CHECK(json_of(single.url(), {"key", "list"}) == keys);
    CHECK(keys.size() == 19);
    CHECK(ctl(single.url(), {"pet", "export"}).out == pets);
    CHECK(store.usage_of(single.url(), store.keys[7])
          == before.at("usage").at(7));
    CHECK(ctl(single.url(), {"key", "create"}).code == 0);
}

TEST_CASE("cluster migration: a move that cannot work does not begin")
{
    RedisServer from;
    const Filled store(from);
    const auto before = store.seen(from.url());
    RedisServer to;
    to.command({"ACL", "SETUSER", "default", "-restore"});
    const auto refused = ctl(from.url(), {"move", "--to", to.url()});
    CHECK(refused.code == 4);
    CHECK(contains(refused.err, "NOPERM"));
    CHECK(store.seen(from.url()) == before);
    CHECK(ctl(from.url(), {"key", "create"}).code == 0);

    to.command({"ACL", "SETUSER", "default", "+restore"});
    const auto is_marked = [](const auto& redis) {
        return redis.command({"EXISTS", kLimitsMarker}).integer != 0;
    };
    // Without the number of pets, no script could freeze the catalogue.
    const std::string count = "petstore:{petstore:pets}:count";
    from.command({"SET", count, "abc"});
    check_fails(ctl(from.url(), {"move", "--to", to.url()}),
                count + " is damaged; nothing was changed");
    CHECK_FALSE(is_marked(from));
    CHECK_FALSE(is_marked(to));
    CHECK(ctl(from.url(), {"key", "create"}).code == 0);
    from.command({"DEL", count});
    from.command({"RPUSH", count, "300"});
    check_fails(ctl(from.url(), {"move", "--to", to.url()}),
                count + " is damaged: it holds another type");
    CHECK_FALSE(is_marked(from));
    CHECK_FALSE(is_marked(to));

    // A user who may not know whether slots move.
    ClusterServers cluster;
    const auto limited = cluster.url_without("cluster|nodes");
    check_fails(ctl(from.url(), {"--limit-redis", limited, "limits", "move"}),
                "cluster|nodes", 4);
    CHECK_FALSE(is_marked(from));
    CHECK_FALSE(is_marked(cluster));
    CHECK(ctl(cluster.url(), {"key", "create"}).code == 0);
    check_fails(ctl(limited, {"move", "--to", to.url()}), "cluster|nodes", 4);
    CHECK_FALSE(is_marked(cluster));
    CHECK_FALSE(is_marked(to));
    CHECK(ctl(cluster.url(), {"key", "create"}).code == 0);
}

TEST_CASE("cluster migration: an interrupted move is completed")
{
    RedisServer single;
    const Filled store(single);
    ClusterServers cluster;
    const auto before = store.seen(single.url());
    const auto move = [&] {
        return ctl(single.url(), {"move", "--to", cluster.url()});
    };
    // The Cluster already holds another store.
    cluster.command({"SET", "petstore:key:x", "1"});
    check_fails(move(), "has data of this prefix");
    CHECK(store.seen(single.url()) == before);
    cluster.command({"DEL", "petstore:key:x"});

    // The state that a killed petstorectl leaves.
    single.command({"SET", kLimitsMarker, "elsewhere-from abc"});
    cluster.command({"SET", kLimitsMarker, "elsewhere-to abc"});
    cluster.command({"SET", "petstore:key:x", "1"});
    single.command({"RENAME", account_key(store.keys[3], "state"),
                    account_key(store.keys[3], "moving")});
    single.command({"SET", "petstore:{petstore:pets}:count", "elsewhere 300"});
    check_fails(ctl(cluster.url(), {"move", "--to", single.url()}),
                "not moved here completely");
    check_fails(ctl(cluster.url(), {"key", "list"}),
                "not moved here completely");
    const auto moved = move();
    INFO(moved.err);
    REQUIRE(moved.code == 0);
    CHECK(store.seen(cluster.url()) == before);
    CHECK(cluster.command({"EXISTS", "petstore:key:x"}).integer == 0);
}

TEST_CASE("cluster migration: a store moves whose limits were returned")
{
    TwoRedis first;
    first.create_key();
    RedisServer second;
    const auto move = [](const RedisServer& from, const RedisServer& to) {
        const auto moved = ctl(from.url(), {"move", "--to", to.url()});
        INFO(moved.err);
        REQUIRE(moved.code == 0);
    };
    const auto limits = [&](const std::string& direction) {
        const auto done =
            ctl(second.url(),
                {"--limit-redis", first.limits.url(), "limits", direction});
        INFO(done.err);
        REQUIRE(done.code == 0);
    };
    // As docs/cluster.md says, then on with the same limit Redis, and back.
    REQUIRE(first.ctl({"limits", "return"}).code == 0);
    move(first.main, second);
    limits("move");
    limits("return");
    move(second, first.main);
    CHECK(ctl(first.main.url(), {"key", "create"}).code == 0);
    check_fails(ctl(second.url(), {"key", "list"}), "moved to another Redis");
}

TEST_CASE("cluster migration: a move outlasts Redis's timeout")
{
    // It waits for workers for five seconds.
    RedisServer from({"timeout 3"});
    RedisServer to({"timeout 3"});
    const Filled store(from);
    const auto before = store.seen(from.url());
    const auto moved = ctl(from.url(), {"move", "--to", to.url()});
    INFO(moved.err);
    REQUIRE(moved.code == 0);
    CHECK(store.seen(to.url()) == before);
}

TEST_CASE("cluster migration: an interrupted move back is completed")
{
    RedisServer first;
    const Filled store(first);
    RedisServer second;
    const auto before = store.seen(first.url());
    REQUIRE(ctl(first.url(), {"move", "--to", second.url()}).code == 0);
    // A killed petstorectl had marked only the destination.
    const auto marker = first.command({"GET", kLimitsMarker}).text;
    const auto id = marker.substr(marker.find(' '));
    first.command({"SET", kLimitsMarker, "elsewhere-to" + id});
    const auto moved = ctl(second.url(), {"move", "--to", first.url()});
    INFO(moved.err);
    REQUIRE(moved.code == 0);
    CHECK(store.seen(first.url()) == before);
    check_fails(ctl(second.url(), {"plan", "list"}), "moved to another Redis");
}

TEST_CASE("cluster migration: under traffic no limit is exceeded")
{
    RedisServer single;
    const auto key = create_key(single);
    import_pets(single, 200);
    ClusterServers cluster;
    auto options = host_options({});
    options.redis = single.url();
    std::vector<std::unique_ptr<NginxServer>> hosts;
    for (int i = 0; i < 2; ++i) {
        hosts.push_back(std::make_unique<NginxServer>(options));
    }
    Clients clients(hosts, key);
    REQUIRE(wait_until([&] { return clients.admitted > 500; }));
    const auto moved =
        ctl(single.url(), {"move", "--to", cluster.url(), "--json"});
    INFO(moved.err);
    REQUIRE(moved.code == 0);
    options.redis = cluster.url();
    for (const auto& host : hosts) {
        host->change(options);
        host->reload_and_settle();
        const auto before = clients.admitted.load();
        CHECK(wait_until([&] { return clients.admitted > before + 20; }));
    }
    clients.end();
    CHECK(clients.unauthorized == 0);
    // Every request was counted, and every pet exists exactly once.
    const long long charged = clients.admitted + clients.refused_creates;
    const auto used = [&]() -> long long {
        return json_of(cluster.url(), {"key", "usage", key.id})
            .at("day")
            .at("used");
    };
    CHECK(used() == charged);
    const long long count = 200 + clients.created;
    const auto pets = split(ctl(cluster.url(), {"pet", "export"}).out, '\n');
    CHECK(static_cast<long long>(pets.size()) == count);
    std::set<long long> ids;
    for (const auto& pet : pets) {
        ids.insert(nlohmann::json::parse(pet).at("id").get<long long>());
    }
    CHECK(ids.size() == pets.size());

    // Uses the rest of the day's budget, to the last request.
    const auto limit = std::to_string(charged + 100);
    json_of(cluster.url(), {"key", "set", key.id, "--plan", "enterprise",
                            "--per-minute", "1000000", "--per-day", limit});
    Clients last(hosts, key);
    CHECK(wait_until([&] { return used() == charged + 100; }));
    Http http(hosts[0]->url(), key.secret);
    CHECK(wait_until([&] { return http.get("/v1/nowhere").status == 429; }));
    last.end();
    CHECK(last.admitted == 100);
}
