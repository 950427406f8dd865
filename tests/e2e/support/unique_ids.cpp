#include "unique_ids.h"

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cluster_world.h"
#include "replicas.h"
#include "sentinels.h"
#include "store.h"
#include "writers.h"

namespace petstore::e2e {

namespace {

namespace fs = std::filesystem;

NginxOptions two_workers(const std::string& redis)
{
    NginxOptions options;
    options.redis = redis;
    options.workers = 2;
    return options;
}

void create_some(const Writers& writers, int count = 30)
{
    const int before = writers.acknowledged();
    const bool created =
        wait_until([&] { return writers.acknowledged() >= before + count; });
    INFO(writers.refused() << " creates refused");
    REQUIRE(created);
}

// `at_least`: how many lost pets make the test meaningful.
void check_ids(const std::vector<const Writers*>& all, const NginxServer& nginx,
               const Key& key, int at_least)
{
    Http http(nginx.url(), key.secret);
    REQUIRE(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    std::map<long long, std::string> stored;
    long long before = 0;
    int gaps = 0;
    for (const auto& row : walk(http, "/v1/pets?limit=100")) {
        const long long id = row.at("id");
        REQUIRE(id > before);
        gaps += id != before + 1;
        stored[before = id] = row.at("name").get<std::string>();
    }
    std::map<long long, std::string> acknowledged;
    int creates = 0;
    int lost = 0;
    for (const Writers* writers : all) {
        CHECK(writers->strange() == 0);
        CHECK(static_cast<std::size_t>(writers->acknowledged())
              == writers->pets().size());
        creates += writers->acknowledged();
        acknowledged.insert(writers->pets().begin(), writers->pets().end());
    }
    CHECK(static_cast<std::size_t>(creates) == acknowledged.size());
    for (const auto& [id, name] : acknowledged) {
        const auto found = stored.find(id);
        const auto path = "/v1/pets/" + std::to_string(id);
        if (found != stored.end()) {
            CHECK(found->second == name);
            if (gaps > 1 && id % 16 == 0) {
                CHECK(http.get(path).json().at("name") == name);
            }
        } else if (++lost <= 200) {
            CHECK(http.get(path).status == 404);
        }
    }
    CHECK(lost >= at_least);
    WARN(creates << " acknowledged, " << lost << " lost, " << gaps << " gaps");
}

// Removes the last creates. False if there are few. Whole transactions, because
// Redis leaves the start of one that it drops in the file, and executes it when
// it loads the file again.
bool lose_end(const fs::path& file)
{
    constexpr std::size_t kLost = 4000;
    const std::string bytes = read_file(file.string());
    // The API key's records are at the start.
    if (bytes.size() < 3 * kLost) {
        return false;
    }
    fs::resize_file(file,
                    bytes.rfind("*1\r\n$5\r\nMULTI\r\n", bytes.size() - kLost));
    return true;
}

// Until then, a replica that takes over has no catalogue, and a new one starts
// at 1.
void wait_for_pets(const RedisServer& redis)
{
    REQUIRE(wait_until([&] {
        return !redis.command({"KEYS", "petstore:{petstore:pets}:count"})
                    .items.empty();
    }));
}

// The replicas of this primary get no more writes, and cannot follow it again
// until accept_replicas() or a restart.
void cut_off_replicas(const RedisServer& primary)
{
    primary.command({"ACL", "SETUSER", "default", "-psync", "-sync"});
    primary.command({"CLIENT", "KILL", "TYPE", "replica"});
}

void accept_replicas(const RedisServer& primary)
{
    primary.command({"ACL", "SETUSER", "default", "+@all"});
}

}  // namespace

void check_ids_after_crashes(int rounds)
{
    // "no": so that a rewrite does not replace the file.
    RedisServer redis({"appendonly yes", "appendfsync everysec",
                       "auto-aof-rewrite-percentage 0"});
    const Key key = create_key(redis);
    NginxServer nginx(two_workers(redis.url()));
    const auto directory = fs::path(redis.socket()).parent_path();
    Writers writers(nginx, key, 4);
    int lost_rounds = 0;
    for (int round = 0; round < rounds; ++round) {
        create_some(writers, 60);
        redis.kill_hard();
        for (const auto& entry : fs::recursive_directory_iterator(directory)) {
            const auto name = entry.path().filename().string();
            if (contains(name, ".incr.aof")) {
                lost_rounds += lose_end(entry.path());
            }
        }
        redis.start();
    }
    create_some(writers);
    writers.end();
    CHECK(lost_rounds > 0);
    check_ids({&writers}, nginx, key, lost_rounds);
}

void check_ids_after_restores(int rounds)
{
    RedisServer redis({"appendonly no", "dbfilename kept.rdb"});
    const Key key = create_key(redis);
    NginxServer nginx(two_workers(redis.url()));
    const auto dump = fs::path(redis.socket()).parent_path() / "kept.rdb";
    const auto copy = dump.string() + ".copy";
    Writers writers(nginx, key, 4);
    create_some(writers);
    REQUIRE(redis.command({"SAVE"}).text == "OK");
    fs::copy_file(dump, copy);
    for (int round = 0; round < rounds; ++round) {
        create_some(writers);
        redis.kill_hard();
        fs::copy_file(copy, dump, fs::copy_options::overwrite_existing);
        redis.start();
    }
    create_some(writers);
    writers.end();
    check_ids({&writers}, nginx, key, 30 * rounds);
}

void check_ids_after_partitions(int rounds)
{
    RedisServer left(kReplicated);
    RedisServer right(kReplicated);
    const Key key = create_key(left);
    follow(right, left);
    int lost = 0;
    NginxServer on_left(two_workers(left.url()));
    NginxServer on_right(two_workers(right.url()));
    std::vector<std::unique_ptr<Writers>> all;
    std::vector<const Writers*> pointers;
    const RedisServer* primary = &left;
    const RedisServer* replica = &right;
    const NginxServer* old_side = &on_left;
    const NginxServer* new_side = &on_right;
    for (int round = 0; round < rounds; ++round) {
        Writers& old_writers =
            *all.emplace_back(std::make_unique<Writers>(*old_side, key, 2));
        create_some(old_writers);
        wait_for_pets(*replica);
        cut_off_replicas(*primary);
        promote(*replica);
        // Both sides create.
        Writers& new_writers =
            *all.emplace_back(std::make_unique<Writers>(*new_side, key, 2));
        create_some(new_writers);
        create_some(old_writers);
        lost += 30;
        old_writers.end();
        new_writers.end();
        accept_replicas(*primary);
        follow(*primary, *replica);
        std::swap(primary, replica);
        std::swap(old_side, new_side);
    }
    for (const auto& writers : all) {
        pointers.push_back(writers.get());
    }
    check_ids(pointers, *old_side, key, lost);
}

void check_ids_behind_sentinels(int rounds, bool restarts)
{
    Sentinels::Options options;
    options.down_after = 1000;
    options.servers = {"appendonly yes", "appendfsync everysec"};
    Sentinels redis(options);
    const Key key = create_key(redis.server(0));
    NginxServer nginx(two_workers(redis.url()));
    Writers writers(nginx, key, 4);
    for (int round = 0; round < rounds; ++round) {
        create_some(writers);
        const auto primary = redis.primary();
        for (std::size_t i = 0; i < redis.count(); ++i) {
            wait_for_pets(redis.server(i));
        }
        cut_off_replicas(redis.server(primary));
        create_some(writers);
        redis.server(primary).kill_hard();
        if (restarts) {
            redis.server(primary).start();
            create_some(writers);
            cut_off_replicas(redis.server(primary));
            create_some(writers);
            redis.server(primary).kill_hard();
        }
        redis.wait_for_other_than(primary);
        create_some(writers);
        redis.server(primary).start();
        // Sentinels that had noticed the first kill may have saved the cut.
        accept_replicas(redis.server(primary));
        redis.wait_until_settled();
    }
    writers.end();
    check_ids({&writers}, nginx, key, rounds);
}

void check_ids_in_cluster(int rounds)
{
    ClusterServers::Options options;
    options.node_timeout = 1000;
    ClusterWorld world(options);
    Writers writers(world.nginx, world.key, 4);
    for (int round = 0; round < rounds; ++round) {
        create_some(writers);
        const auto primary = world.catalogue_server();
        const auto replica = world.redis.replica_of(primary);
        wait_for_pets(world.redis.server(replica));
        cut_off_replicas(world.redis.server(primary));
        create_some(writers);
        world.redis.server(primary).kill_hard();
        REQUIRE(wait_until([&] {
            return world.redis.owner(ClusterWorld::catalogue_slot(), replica)
                   == replica;
        }));
        create_some(writers);
        world.redis.server(primary).start();
        REQUIRE(wait_until([&] {
            return contains(world.redis.server(primary)
                                .command({"INFO", "replication"})
                                .text,
                            "master_link_status:up");
        }));
    }
    writers.end();
    check_ids({&writers}, world.nginx, world.key, rounds);
}

}  // namespace petstore::e2e
