// A Redis Cluster whose primaries change under load.
#include <algorithm>
#include <csignal>

#include "support/cluster_world.h"
#include "support/old_clients.h"
#include "support/writers.h"

using namespace petstore::e2e;

namespace {

// docs/cluster.md; counted from the promotion.
constexpr auto kBound = 1s;

// Acknowledged creates or charges of the last milliseconds, which may be lost.
constexpr std::size_t kMostLost = 100;
// Those that the old primary executes before it learns of the new one.
constexpr std::size_t kMostLostByTakeover = 1000;

// Clients that use up an account's limit and then keep sending requests.
class Spenders {
public:
    Spenders(const ClusterWorld& world, const Key& key, int count = 8)
    {
        for (int i = 0; i < count; ++i) {
            threads_.emplace_back([this, url = world.nginx.url(),
                                   secret = key.secret] {
                Http http(url, secret);
                while (!ending_) {
                    const auto status = http.get("/v1/pets/1").status;
                    admitted_ += status == 200;
                    denied_ += status == 429;
                    strange_ += status != 200 && status != 429 && status != 503;
                }
            });
        }
    }
    ~Spenders() { end(); }

    void end()
    {
        ending_ = true;
        for (auto& thread : threads_) {
            thread.join();
        }
        threads_.clear();
    }

    int admitted() const { return admitted_; }
    int denied() const { return denied_; }
    int strange() const { return strange_; }

private:
    std::atomic<bool> ending_{false};
    std::atomic<int> admitted_{0};
    std::atomic<int> denied_{0};
    std::atomic<int> strange_{0};
    std::vector<std::thread> threads_;
};

// Replaces the primary of the catalogue and of an account by `failover`, while
// pets are created and read and the account's limit is used up. A primary that
// gets no CPU time for `node_timeout` milliseconds is replaced, too.
void check_failover(
    const std::function<std::size_t(ClusterWorld&, std::size_t primary)>&
        failover,
    std::size_t most_lost, int node_timeout = 5000)
{
    constexpr int kLimit = 3000;
    ClusterServers::Options servers;
    servers.node_timeout = node_timeout;
    ClusterWorld world(servers);
    const auto primary = world.catalogue_server();
    const auto limited = world.redis.limited_key(kLimit, primary);
    const auto writer = world.redis.create_key({}, primary);
    Readers readers(world);
    Writers writers(world.nginx, writer, 2);
    Spenders spenders(world, limited);
    REQUIRE(readers.continue_all());
    REQUIRE(wait_until([&] {
        return writers.acknowledged() >= 20 && spenders.admitted() >= 20;
    }));

    const auto replacement = failover(world, primary);
    const auto bound = Clock::now() + kBound;
    CHECK(kept_by(bound,
                  [&] { return world.http.get("/v1/pets").status == 200; }));
    const int acknowledged = writers.acknowledged();
    REQUIRE(readers.continue_all());
    REQUIRE(wait_until(
        [&] { return writers.acknowledged() >= acknowledged + 20; }));
    writers.end();
    readers.end();
    REQUIRE(wait_until([&] { return spenders.denied() >= 50; }));
    spenders.end();

    const auto stored = compare(writers, world.nginx, world.key);
    // A reassigned id has replaced a lost pet.
    const auto lost = stored.lost + stored.ids_twice;
    const auto beyond =
        static_cast<std::size_t>(std::max(spenders.admitted() - kLimit, 0));
    WARN("lost: " << lost << " of " << writers.acknowledged() << " creates, "
                  << beyond << " of " << kLimit << " charges; refused: "
                  << writers.refused() << " creates, " << readers.refused()
                  << " of " << readers.read() + readers.refused() << " reads");
    CHECK(lost <= most_lost);
    CHECK(beyond <= most_lost);
    CHECK(stored.names_twice == 0);
    INFO(readers.first_strange());
    CHECK(readers.strange() == 0);
    CHECK(writers.strange() == 0);
    CHECK(spenders.strange() == 0);
    CHECK(world.same_workers());
    CHECK(world.redis.owner(ClusterWorld::catalogue_slot(), replacement)
          == replacement);
}

}  // namespace

TEST_CASE("cluster: a manual failover loses nothing")
{
    check_failover(
        [](ClusterWorld& world, std::size_t primary) {
            const auto replica = world.redis.replica_of(primary);
            world.redis.fail_over(replica);
            return replica;
        },
        0);
}

TEST_CASE("cluster: a takeover is followed")
{
    check_failover(
        [](ClusterWorld& world, std::size_t primary) {
            const auto replica = world.redis.replica_of(primary);
            world.redis.fail_over(replica, "TAKEOVER");
            return replica;
        },
        kMostLostByTakeover);
}

TEST_CASE("cluster: a primary that is killed is replaced")
{
    check_failover(
        [](ClusterWorld& world, std::size_t primary) {
            const auto replica = world.redis.replica_of(primary);
            world.redis.server(primary).kill_hard();
            world.redis.wait_for_owner(ClusterWorld::catalogue_slot(), replica);
            return replica;
        },
        kMostLost, 1000);
}

TEST_CASE("cluster: the old workers of a reload follow a failover")
{
    ClusterServers::Options servers;
    servers.node_timeout = 1000;
    ClusterWorld world(servers);
    const auto primary = world.catalogue_server();
    const auto replica = world.redis.replica_of(primary);
    world.http.close();
    OldClients clients(world.nginx, world.key);
    world.redis.server(primary).kill_hard();
    world.redis.wait_for_owner(ClusterWorld::catalogue_slot(), replica);
    CHECK(clients.recover());
}

TEST_CASE("cluster: replicas replace all primaries that workers know")
{
    ClusterServers redis;
    const auto key = redis.create_key();
    // A map has no replica that has received nothing yet: then three elements
    // per range instead of four.
    REQUIRE(wait_until([&] {
        const auto map = redis.server(0).command({"CLUSTER", "SLOTS"});
        return std::all_of(
            map.items.begin(), map.items.end(),
            [](const auto& range) { return range.items.size() == 4; });
    }));
    NginxOptions options;
    options.redis = "cluster redis://" + redis.address(0);
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    REQUIRE(http.get("/v1/pets").status == 200);
    for (std::size_t i = 0; i < 3; ++i) {
        redis.server(i).kill_hard();
    }
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 503; }));
    // Without primaries, replicas elect no new ones.
    for (std::size_t i = 3; i < 6; ++i) {
        redis.server(i).command({"CLUSTER", "FAILOVER", "TAKEOVER"});
    }
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
}
