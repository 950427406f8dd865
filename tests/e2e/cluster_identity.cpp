// A Redis Cluster in which another server took over the address of one: it lost
// its folder, or belongs to another Cluster.
#include "support/cluster_world.h"
#include "support/threaded_server.h"

#include <chrono>
#include <set>
#include <sys/socket.h>
#include <unistd.h>

using namespace petstore::e2e;

namespace {

// Serves neither the pets, nor the index of keys, nor the marker of the limits.
constexpr std::size_t kLost = 1;

ClusterServers::Options three_servers()
{
    ClusterServers::Options servers;
    servers.replicas = false;
    servers.config = {"cluster-require-full-coverage no"};
    return servers;
}

// The server starts again at its address, but it is another one.
void replace(RedisServer& server)
{
    server.kill_hard();
    server.lose_data();
    server.start();
}

bool is_noticed_by_others(ClusterServers& redis)
{
    for (std::size_t i = 0; i < redis.count(); ++i) {
        if (i != kLost
            && !contains(redis.server(i).command({"CLUSTER", "NODES"}).text,
                         "noaddr")) {
            return false;
        }
    }
    return true;
}

struct PlacedKey {
    std::string id;
    std::string secret;
    std::size_t account = 0;        // the servers of the account's limits
    std::set<std::size_t> records;  // of the key's and the account's record
};

// Keys made by petstorectl, which are all over the Cluster.
std::vector<PlacedKey> make_keys(ClusterServers& redis, int count)
{
    std::vector<PlacedKey> keys;
    for (int i = 0; i < count; ++i) {
        const auto result =
            ctl(redis.url(), {"key", "create", "--json", "--plan", "business"});
        REQUIRE(result.code == 0);
        const auto json = nlohmann::json::parse(result.out);
        PlacedKey key;
        key.id = json.at("id");
        key.secret = json.at("key");
        remember_secret(key.secret);
        const std::string account = json.at("account");
        key.account = redis.owner(ClusterServers::slot_of(account));
        const auto digest =
            redis.command({"HGET", "petstore:keys", key.id}).text;
        for (const auto& record :
             {"petstore:key:" + digest, "petstore:account:" + account}) {
            key.records.insert(redis.owner(ClusterServers::slot_of(record)));
        }
        keys.push_back(std::move(key));
    }
    return keys;
}

// Sends requests with each key, over new connections and so to both workers,
// which may have cached the record. Counts those with another status than
// expected.
struct Wrong {
    int unavailable = 0;  // 503
    int other = 0;

    int total() const { return unavailable + other; }
};

Wrong count_wrong(const NginxServer& nginx, const std::vector<PlacedKey>& keys,
                  bool cached)
{
    Wrong wrong;
    for (const auto& key : keys) {
        const bool away = key.account == kLost;
        const bool unread = key.records.count(kLost) != 0;
        for (int i = 0; i < 8; ++i) {
            const auto response =
                Http(nginx.url(), key.secret).get("/v1/pets/1");
            const bool expected =
                response.status == (away || (unread && !cached) ? 503 : 200)
                || (unread && response.status == 503);
            if (!expected) {
                UNSCOPED_INFO("account on " << key.account
                                            << ", a record lost: " << unread
                                            << ": " << response.status);
                ++(response.status == 503 ? wrong.unavailable : wrong.other);
            }
        }
    }
    return wrong;
}

void copy(int from, int to)
{
    std::string bytes;
    while (receive_some(from, bytes) && send_all(to, bytes)) {
        bytes.clear();
    }
    shutdown(to, SHUT_RDWR);
}

// One address for all servers, as of a Service of Kubernetes: each connection
// leads to another of them.
class SharedAddress {
public:
    explicit SharedAddress(ClusterServers& redis) : redis_(redis) {}

    std::string url() const
    {
        return "redis://" + own_address() + ":" + std::to_string(port_);
    }
    int connections() const { return server_.connections(); }

private:
    void serve(int client)
    {
        const int server =
            connect_unix(redis_.server(next_++ % redis_.count()).socket());
        std::thread replies([&] { copy(server, client); });
        copy(client, server);
        replies.join();
        close(server);
    }

    ClusterServers& redis_;
    const int port_ = free_port();
    std::atomic<std::size_t> next_{0};
    ThreadedServer server_{listen_tcp(port_), [this](int fd) { serve(fd); }};
};

}  // namespace

TEST_CASE("cluster: a server that lost its folder fails only its slots")
{
    ClusterWorld world(three_servers());
    const auto keys = make_keys(world.redis, 12);
    std::size_t unread = 0;
    for (const auto& key : keys) {
        unread += key.records.count(kLost);
        for (int i = 0; i < 8; ++i) {
            REQUIRE(Http(world.nginx.url(), key.secret).get("/v1/pets/1").status
                    == 200);
        }
    }
    const auto id = world.redis.id(kLost);
    replace(world.redis.server(kLost));
    REQUIRE(wait_until([&] { return is_noticed_by_others(world.redis); }));

    CHECK(count_wrong(world.nginx, keys, true).total() == 0);
    world.nginx.reload_and_settle();
    CHECK(count_wrong(world.nginx, keys, false).total() == 0);

    // The others' keys are listed, and the server is named.
    const auto list = ctl(world.redis.url(), {"key", "list", "--json"});
    CHECK(nlohmann::json::parse(list.out).size() == keys.size() - unread);
    if (unread == 0) {
        CHECK(list.code == 0);
    } else {
        CHECK(list.code == 4);
        CHECK(contains(list.err, std::to_string(unread) + " key"));
    }
    const auto doctor = ctl(world.redis.url(), {"doctor"});
    CHECK(doctor.code == 1);
    CHECK(contains(doctor.out, "node " + id));
    CHECK(contains(doctor.out, "pets"));

    // It joins with its old slots: everything is found again, without a reload.
    for (std::size_t i = 0; i < 3; ++i) {
        if (i != kLost) {
            world.redis.server(i).command({"CLUSTER", "FORGET", id});
        }
    }
    world.redis.rejoin(kLost, {5461, 10921});
    const auto key = world.redis.limited_key(100, kLost);
    CHECK(wait_until([&] {
        return Http(world.nginx.url(), key.secret).get("/v1/pets/1").status
               == 200;
    }));
}

TEST_CASE("cluster: a server of another Cluster at an address is not used")
{
    ClusterWorld world(three_servers());
    const auto keys = make_keys(world.redis, 8);
    const auto lost = world.redis.limited_key(100, kLost);
    for (const auto& key : keys) {
        for (int i = 0; i < 8; ++i) {
            REQUIRE(Http(world.nginx.url(), key.secret).get("/v1/pets/1").status
                    == 200);
        }
    }
    auto& foreign = world.redis.server(kLost);
    replace(foreign);
    foreign.command({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
    REQUIRE(wait_until([&] {
        return contains(foreign.command({"CLUSTER", "INFO"}).text,
                        "cluster_state:ok");
    }));
    // While workers look for the node, accounts on others may get 503, but no
    // request may get an answer that the foreign server gave.
    int other = 0;
    CHECK(wait_until([&] {
        const Wrong wrong = count_wrong(world.nginx, keys, true);
        other += wrong.other;
        return wrong.total() == 0;
    }));
    // A request for an account of the lost node makes a worker ask any of the
    // servers for the map, at most five times per second. It must never take
    // that of the foreign server, although no other map names its address.
    using Clock = std::chrono::steady_clock;
    for (int round = 0; round < 15; ++round) {
        const auto end = Clock::now() + std::chrono::milliseconds(200);
        while (Clock::now() < end) {
            Http client(world.nginx.url(), lost.secret);
            REQUIRE(client.get("/v1/pets/1").status == 503);
        }
        const Wrong wrong = count_wrong(world.nginx, keys, true);
        other += wrong.other;
        CHECK(wrong.unavailable == 0);
    }
    CHECK(other == 0);
    CHECK(foreign.command({"DBSIZE"}).integer == 0);
    CHECK(world.lines_with("is another server than the one meant") >= 1);
    CHECK(world.same_workers());
}

TEST_CASE("cluster: nodes that may not be asked who they are are used")
{
    ClusterServers::Options servers;
    servers.replicas = false;
    servers.config = {"user worker on >pw ~* +@all -cluster|myid"};
    ClusterWorld world(servers, {}, "worker:pw@");
    for (std::size_t i = 0; i < 3; ++i) {
        const auto key = world.redis.limited_key(100, i);
        CHECK(Http(world.nginx.url(), key.secret).get("/v1/pets/1").status
              == 200);
    }
    // One for each worker.
    CHECK(wait_until([&] { return world.lines_with("CLUSTER MYID") == 2; }));
    CHECK(world.lines_with("[warn]") == 2);
    CHECK(world.lines_with("[error]") == 0);
}

TEST_CASE("cluster: all servers may be asked at an address that they share")
{
    ClusterServers redis(three_servers());
    const auto key = redis.limited_key(1'000'000, kLost);
    SharedAddress shared(redis);
    NginxOptions options;
    options.redis = "cluster " + shared.url();
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    REQUIRE(http.get("/v1/pets").status == 200);
    // A slot without a server makes the worker search, each time starting with
    // any address.
    redis.server(kLost).command(
        {"CLUSTER", "DELSLOTS",
         std::to_string(ClusterServers::slot_of(key.account))});
    CHECK(wait_until([&] {
        CHECK(http.get("/v1/pets").status == 503);
        return shared.connections() >= 5;
    }));
    CHECK_FALSE(contains(nginx.error_log(), "is another node"));
}

TEST_CASE("cluster: nodes that exchange their addresses are found again")
{
    auto servers = three_servers();
    servers.node_timeout = 2000;
    servers.config.push_back("appendonly yes");
    ClusterServers redis(servers);
    std::vector<Key> keys;
    for (std::size_t i = 0; i < 3; ++i) {
        keys.push_back(redis.limited_key(1'000'000, i));
    }
    NginxOptions options;
    options.redis = redis.url();
    NginxServer nginx(options);
    const auto all_served = [&] {
        return std::all_of(keys.begin(), keys.end(), [&](const Key& key) {
            return Http(nginx.url(), key.secret).get("/v1/pets").status == 200;
        });
    };
    REQUIRE(all_served());
    for (std::size_t i = 0; i < 3; ++i) {
        redis.server(i).stop();
    }
    redis.server(0).exchange_data(redis.server(1));
    redis.server(1).exchange_data(redis.server(2));
    for (std::size_t i = 0; i < 3; ++i) {
        redis.server(i).start();
    }
    CHECK(wait_until([&] {
        redis.meet(1);
        redis.meet(2);
        return all_served();
    }));
}

TEST_CASE("cluster: a worker finds a Cluster of which each node was replaced")
{
    ClusterServers redis(three_servers());
    const auto old = redis.limited_key(1'000'000);
    NginxOptions options;
    options.redis = redis.url();
    NginxServer nginx(options);
    REQUIRE(Http(nginx.url(), old.secret).get("/v1/pets").status == 200);
    for (std::size_t i = 0; i < 3; ++i) {
        replace(redis.server(i));
    }
    redis.server(0).command({"CLUSTER", "ADDSLOTSRANGE", "0", "5460"});
    redis.rejoin(kLost, {5461, 10921});
    redis.rejoin(2, {10922, 16383});
    const auto key = redis.limited_key(1'000'000);
    CHECK(wait_until([&] {
        return Http(nginx.url(), key.secret).get("/v1/pets").status == 200;
    }));
}
