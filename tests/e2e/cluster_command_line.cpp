// petstorectl with a Redis Cluster.
#include <set>
#include <thread>

#include "support/cluster_servers.h"
#include "support/two_redis.h"

using namespace petstore::e2e;

namespace {

using Arguments = std::vector<std::string>;

struct Made {
    std::string id;
    std::string account;
    std::string secret;
};

Output does(const ClusterServers& redis, const Arguments& arguments,
            const std::string& input = "")
{
    auto result = ctl(redis.url(), arguments, input);
    INFO(result.err);
    REQUIRE(result.code == 0);
    return result;
}

nlohmann::json json_of(const ClusterServers& redis, Arguments arguments)
{
    arguments.push_back("--json");
    return nlohmann::json::parse(does(redis, arguments).out);
}

Made make_key(const ClusterServers& redis)
{
    const auto json = json_of(redis, {"key", "create"});
    remember_secret(json.at("key"));
    return {json.at("id"), json.at("account"), json.at("key")};
}

std::string pets(int count)
{
    std::string lines;
    for (int i = 1; i <= count; ++i) {
        lines +=
            pet_json(i, "pet " + std::to_string(i), "7", "available") + "\n";
    }
    return lines;
}

// Moves the slot of a Redis key, and runs `during` when some or all of its keys
// have moved.
template <typename During>
void while_moving(ClusterServers& redis, const std::string& key,
                  const Arguments& moved, During&& during)
{
    const int slot = ClusterServers::slot_of(key);
    const auto from = redis.owner(slot);
    const auto to = (from + 1) % 3;
    redis.begin_move(slot, from, to);
    for (const auto& name : moved) {
        redis.move_key(name, from, to);
    }
    during();
    redis.move_keys(slot, from, to);
    redis.end_move(slot, to);
}

// Counts the servers' errors with these codes: each once per server.
std::size_t errors_of(ClusterServers& redis, const Arguments& codes)
{
    std::size_t found = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        const auto text = redis.server(i).command({"INFO", "errorstats"}).text;
        for (const auto& code : codes) {
            found += contains(text, "errorstat_" + code + ":") ? 1 : 0;
        }
    }
    return found;
}

}  // namespace

TEST_CASE("cluster command line: keys on all primaries are managed")
{
    ClusterServers redis;
    std::vector<Made> keys;
    std::set<std::size_t> primaries;
    // Accounts are random, and so are their slots.
    while (keys.size() < 12 || primaries.size() < 3) {
        REQUIRE(keys.size() < 100);
        keys.push_back(make_key(redis));
        primaries.insert(
            redis.owner(ClusterServers::slot_of(keys.back().account)));
    }
    CHECK(json_of(redis, {"key", "list"}).size() == keys.size());
    for (const Made& key : keys) {
        CHECK(json_of(redis, {"key", "show", key.id}).at("account")
              == key.account);
        CHECK(json_of(redis, {"key", "usage", key.id}).at("day").at("used")
              == 0);
    }
    CHECK(json_of(redis, {"key", "disable", keys[0].id}).at("disabled")
          == true);
    CHECK(json_of(redis, {"key", "enable", keys[0].id}).at("disabled")
          == false);
    const auto next = json_of(redis, {"key", "rotate", keys[1].id});
    remember_secret(next.at("key"));
    CHECK(next.at("account") == keys[1].account);
    CHECK(json_of(redis, {"key", "set", keys[2].id, "--plan", "pro"}).at("plan")
          == "pro");
    does(redis, {"key", "delete", keys[3].id});
    CHECK(json_of(redis, {"key", "unban", keys[4].id}).at("was_banned")
          == false);
    CHECK(json_of(redis, {"key", "list"}).size() == keys.size());
}

TEST_CASE("cluster command line: pets are imported and exported")
{
    ClusterServers redis;
    const auto lines = pets(1000);
    does(redis, {"pet", "import", "-"}, lines);
    CHECK(does(redis, {"pet", "export"}).out == lines);
    CHECK(json_of(redis, {"pet", "set-status", "7", "sold"}).at("changed")
          == true);
    CHECK(json_of(redis, {"cache", "clear"}).at("cleared") == true);
    CHECK(contains(does(redis, {"pet", "export"}).out,
                   pet_json(7, "pet 7", "7", "sold")));
}

TEST_CASE("cluster command line: commands follow slots that move")
{
    ClusterServers redis;
    const auto key = make_key(redis);
    while_moving(redis, "petstore:keys", {"petstore:keys"}, [&] {
        make_key(redis);
        CHECK(json_of(redis, {"key", "list"}).size() == 2);
    });
    CHECK(json_of(redis, {"key", "list"}).size() == 2);
    const auto tag = "petstore:{" + key.account + "}:";
    // Reads several keys of the slot, and so waits until all have moved.
    std::thread usage;
    Output used;
    while_moving(redis, tag, {tag + "state"}, [&] {
        CHECK(json_of(redis, {"key", "disable", key.id}).at("disabled")
              == true);
        usage = std::thread([&] {
            used = ctl(redis.url(), {"key", "usage", key.id});
        });
        CHECK(wait_until([&] { return errors_of(redis, {"TRYAGAIN"}) > 0; }));
    });
    usage.join();
    CHECK(used.code == 0);
    // An account without a state in a moving slot, and an outdated slot map.
    while_moving(redis, tag, {tag + "state"}, [] {});
    CHECK(json_of(redis, {"key", "enable", key.id}).at("disabled") == false);
}

TEST_CASE("cluster command line: indexes in open slots are read")
{
    ClusterServers redis;
    const auto key = make_key(redis);
    const auto other = make_key(redis);
    // Without nginx, the last does not exist.
    for (const auto& [index, moved] : {std::pair{"petstore:keys", true},
                                       {"petstore:accounts", true},
                                       {"petstore:hosts", false}}) {
        CAPTURE(index);
        const Arguments names = moved ? Arguments{index} : Arguments{};
        while_moving(redis, index, names, [&] {
            CHECK(json_of(redis, {"key", "list"}).size() == 2);
            CHECK(json_of(redis, {"account", "list"}).size() == 2);
            does(redis,
                 {"plan", "set", "tin", "--per-minute", "1", "--per-day", "2"});
            does(redis, {"plan", "delete", "tin"});
        });
    }
    const auto keys_of = [](const Made& made) {
        return "petstore:account-keys:" + made.account;
    };
    while_moving(redis, keys_of(key), {keys_of(key)}, [&] {
        const auto in_use =
            ctl(redis.url(), {"account", "delete", key.account});
        CHECK(in_use.code == 1);
        does(redis, {"key", "delete", key.id});
    });
    does(redis, {"key", "delete", other.id});
    const auto account =
        json_of(redis, {"account", "create"}).at("id").get<std::string>();
    while_moving(redis, "petstore:account-keys:" + account, {}, [&] {
        does(redis, {"account", "delete", account});
    });
    CHECK(json_of(redis, {"account", "list"}).empty());
}

TEST_CASE("cluster command line: an import continues while its slot moves")
{
    ClusterServers redis;
    does(redis, {"pet", "import", "-"}, pets(300));
    const std::string catalogue = "petstore:{petstore:pets}:";
    const auto lines = pets(600);
    std::thread importing;
    // The keys that have moved: one that the import uses, the bucket of its
    // first pets, or several.
    const Arguments moved =
        GENERATE(Arguments{"count"}, Arguments{"bucket:2"},
                 Arguments{"count", "changes", "status:available", "bucket:0"});
    Arguments names;
    for (const auto& name : moved) {
        names.push_back(catalogue + name);
    }
    Output result;
    while_moving(redis, catalogue + "count", names, [&] {
        importing = std::thread([&] {
            result = ctl(redis.url(), {"pet", "import", "-"}, lines);
        });
        CHECK(wait_until([&] {
            return errors_of(redis, {"TRYAGAIN", "ASK", "ERR"}) > 0;
        }));
    });
    importing.join();
    INFO(result.err);
    CHECK(result.code == 0);
    const auto all = split(does(redis, {"pet", "export"}).out, '\n');
    CHECK(all.size() == 900);
    // Ids continue from the clock after a move.
    const long long last = nlohmann::json::parse(all.back()).at("id");
    CHECK(all.back() == pet_json(last, "pet 600", "7", "available"));
}

TEST_CASE("cluster command line: an import reports damaged data at once")
{
    const ClusterServers redis;
    does(redis, {"pet", "import", "-"}, pets(10));
    redis.command({"RPOP", "petstore:{petstore:pets}:bucket:0"});
    const auto start = std::chrono::steady_clock::now();
    const auto result = ctl(redis.url(), {"pet", "import", "-"}, pets(10));
    CHECK(result.code == 1);
    CHECK(contains(result.err,
                   "line 1: Redis: DAMAGED petstore:{petstore:pets}:bucket:0"));
    // Otherwise it would wait 15 seconds for the end of a move.
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(15));
}

TEST_CASE("cluster command line: commands find the primary after a failover")
{
    ClusterServers::Options options;
    options.node_timeout = 1000;
    ClusterServers redis(options);
    const auto key = make_key(redis);
    const auto slot = ClusterServers::slot_of("petstore:keys");
    redis.fail_over(redis.replica_of(redis.owner(slot)));
    CHECK(json_of(redis, {"key", "list"}).size() == 1);
    // The primary dies, and the command waits for its replacement.
    const auto dying = redis.owner(slot);
    redis.server(dying).kill_hard();
    CHECK(json_of(redis, {"key", "disable", key.id}).at("disabled") == true);
    redis.server(dying).start();
}

TEST_CASE("cluster command line: unusable servers are skipped")
{
    ClusterServers redis;
    RedisServer single;
    const std::string nobody =
        "redis://" + own_address() + ":" + std::to_string(free_port());
    const auto seed = " redis://" + redis.address(1);
    for (const auto& other : {nobody, single.tcp_url()}) {
        CHECK(ctl("cluster " + other + seed, {"key", "list"}).code == 0);
    }
    check_fails(
        ctl("cluster " + nobody + " " + single.tcp_url(), {"key", "create"}),
        "cannot reach the cluster: ", 4);
    const auto alone = ctl("redis://" + redis.address(0), {"doctor"});
    CHECK(alone.code == 1);
    CHECK(contains(alone.out, "put \"cluster\" before its URL"));
    CHECK(
        ctl("cluster redis://" + redis.address(0) + "/1", {"key", "list"}).code
        == 2);
}

TEST_CASE("cluster command line: doctor examines all servers")
{
    ClusterServers::Options options;
    options.node_timeout = 1000;
    ClusterServers redis(options);
    const auto found = [&] {
        std::map<std::string, std::string> verdicts;
        const auto result = ctl(redis.url(), {"doctor", "--json"});
        // nginx refuses it for a Cluster.
        CHECK_FALSE(contains(result.out, "petstore_durability"));
        for (const auto& finding : nlohmann::json::parse(result.out)) {
            verdicts[finding.at("check")] = finding.at("verdict");
        }
        return verdicts;
    };
    auto verdicts = found();
    CHECK(verdicts.at("cluster") == "ok");
    CHECK(verdicts.count("cluster nodes") == 0);
    for (std::size_t i = 0; i < 6; ++i) {
        const auto name = redis.address(i) + " ";
        CHECK(verdicts.at(name + "version") == "ok");
        CHECK(verdicts.at(name + "role") == "ok");
        CHECK(verdicts.at(name + "maxmemory-policy") == "ok");
        CHECK(verdicts.at(name + (i < 3 ? "replicas" : "replication")) == "ok");
    }
    CHECK(verdicts.count("pets") == 0);
    REQUIRE(ctl(redis.url(), {"key", "create"}).code == 0);
    redis.command({"MSET", "petstore:{petstore:pets}:count", "3000000000",
                   "petstore:{petstore:pets}:changes", "1",
                   "petstore:{petstore:pets}:segments",
                   "0000000001:0000000000000001 " + std::string(40, 'f')});
    CHECK(found().at("pets") == "warning");
    redis.server(2).command(
        {"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});
    redis.server(5).kill_hard();
    REQUIRE(wait_until([&] {
        return contains(redis.server(0).command({"CLUSTER", "NODES"}).text,
                        "slave,fail ");
    }));
    verdicts = found();
    CHECK(verdicts.at(redis.address(2) + " maxmemory-policy") == "wrong");
    CHECK(verdicts.at(redis.address(5) + " reachable") == "wrong");
    CHECK(verdicts.at(redis.address(2) + " replicas") == "warning");
    redis.server(5).start();
}

TEST_CASE("cluster command line: doctor says what is wrong with one server")
{
    ClusterServers redis;
    const auto advice = [&] {
        const auto result = ctl(redis.url(), {"doctor", "--json"});
        std::string advice;
        for (const auto& finding : nlohmann::json::parse(result.out)) {
            if (finding.at("check") == redis.address(5) + " reachable") {
                CHECK(finding.at("verdict") == "wrong");
                advice = finding.at("advice");
            }
        }
        return advice;
    };
    redis.server(5).command({"CONFIG", "SET", "requirepass", "pw"});
    CHECK(contains(advice(), "check the user, the password"));
    redis.server(5).kill_hard();
    CHECK(contains(advice(), "start it"));
}

TEST_CASE("cluster command line: doctor without the right to CLUSTER NODES")
{
    ClusterServers redis;
    const auto result =
        ctl(redis.url_without("cluster|nodes"), {"doctor", "--json"});
    bool primaries = false;
    bool replicas = false;
    std::string verdict;
    for (const auto& finding : nlohmann::json::parse(result.out)) {
        const std::string check = finding.at("check");
        if (check == "cluster nodes") {
            verdict = finding.at("verdict");
        }
        primaries = primaries || check == redis.address(0) + " role";
        replicas = replicas || check == redis.address(3) + " role";
    }
    CHECK(verdict == "unknown");
    CHECK(primaries);
    CHECK_FALSE(replicas);
}

TEST_CASE("cluster command line: the password is used for all servers")
{
    ClusterServers::Options options;
    options.password = "cluster-secret";
    ClusterServers redis(options);
    TempDir dir;
    write_file(dir / "password", "cluster-secret\n");
    CHECK(ctl(redis.url(":cluster-secret@"), {"key", "list"}).code == 0);
    CHECK(
        ctl(redis.url(), {"--password-file", dir / "password", "pet", "export"})
            .code
        == 0);
    check_fails(ctl(redis.url(), {"key", "list"}), "NOAUTH", 4);
}
