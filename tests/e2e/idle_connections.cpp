// Connections to Redis that a gateway forgot while they were idle. No request
// may fail, and no create be in doubt, because of that.
#include <algorithm>
#include <cstdlib>
#include <future>
#include <memory>
#include <set>
#include <vector>

#include "chaos/fault_proxy.h"
#include "support/cluster_servers.h"
#include "support/guarded_store.h"
#include "support/limits.h"
#include "support/replicas.h"
#include "support/sentinel_server.h"
#include "support/slow_import.h"
#include "support/two_redis.h"

using namespace petstore::e2e;

namespace {

const char* const kRex = "{\"name\":\"Rex\",\"categoryId\":7}";

const char* const kLastId = "petstore:{petstore:pets}:count";

// A worker trusts a connection for 2 s after it last received something.
constexpr auto kIdle = 2200ms;

using Gateways = std::vector<FaultProxy*>;

// Lets the gateways forget this many idle connections; first they drop what
// follows, then they answer with a reset. Calls `requests` after each.
void after_idle(const Gateways& gateways, int connections,
                const std::function<void()>& requests)
{
    for (const bool resets : {false, true}) {
        INFO((resets ? "resets" : "drops"));
        NetworkFault fault;
        fault.forgets_after = kIdle;
        fault.resets_forgotten = resets;
        for (auto* gateway : gateways) {
            gateway->set(fault);
        }
        REQUIRE(wait_until([&] {
            int forgotten = 0;
            for (auto* gateway : gateways) {
                forgotten += gateway->forgotten();
            }
            return forgotten >= connections;
        }));
        requests();
        std::size_t hits = 0;
        for (auto* gateway : gateways) {
            hits += resets ? static_cast<std::size_t>(gateway->resets())
                           : gateway->swallowed();
            gateway->heal();
        }
        CHECK(hits > 0);
    }
}

void check_no_failure(const NginxServer& nginx)
{
    const auto log = nginx.error_log();
    INFO(log);
    CHECK(count_of(log, "[error]") == 0);
    CHECK(count_of(log, "the idle connection") >= 2);
}

NginxOptions with_shop(NginxOptions options, const BackEnd& back_end)
{
    options.server +=
        "location /shop/ { petstore_guard on;proxy_pass http://%BACK_END%; }";
    return with_back_end(std::move(options), back_end);
}

long long pets_in(const RedisServer& redis)
{
    return std::atoll(redis.command({"GET", kLastId}).text.c_str());
}

// A Cluster whose primaries are behind gateways.
struct GatedCluster {
    GatedCluster();

    ClusterServers redis;
    std::size_t catalogue = redis.owner(ClusterServers::slot_of(kLastId));
    std::vector<Key> keys;  // three on each primary
    std::vector<std::unique_ptr<FaultProxy>> proxies;
    Gateways gateways;
    std::string url = "cluster";
};

GatedCluster::GatedCluster()
{
    for (std::size_t i = 0; i < 9; ++i) {
        keys.push_back(redis.limited_key(1000, i % 3));
    }
    for (std::size_t i = 0; i < 3; ++i) {
        proxies.push_back(std::make_unique<FaultProxy>(redis.server(i)));
        gateways.push_back(proxies.back().get());
        const auto port = std::to_string(proxies.back()->port());
        redis.server(i).command(
            {"CONFIG", "SET", "cluster-announce-port", port});
        url += " redis://" + own_address() + ":" + port;
    }
    for (std::size_t i = 0; i < 3; ++i) {
        REQUIRE(wait_until([&] {
            const auto map = redis.server(i).command({"CLUSTER", "NODES"}).text;
            return std::all_of(
                gateways.begin(), gateways.end(), [&](auto* gateway) {
                    return contains(map, ":" + std::to_string(gateway->port())
                                             + "@");
                });
        }));
    }
}

std::string lines(int count)
{
    return repeat(std::string(kRex) + "\n", static_cast<std::size_t>(count));
}

// Imports through these gateways, with pauses. `pets`: how many there are.
void import_with_pauses(const std::string& url, const Gateways& gateways,
                        const std::function<long long()>& pets)
{
    constexpr int kBatch = 128;  // pets that petstorectl sends at once
    SlowImport import(url);
    import.write(lines(2 * kBatch + 50));
    long long sent = 2 * kBatch;
    REQUIRE(wait_until([&] { return pets() == sent; }));
    after_idle(gateways, 1, [&] {
        import.write(lines(2 * kBatch));
        sent += 2 * kBatch;
        REQUIRE(wait_until([&] { return pets() == sent; }));
    });
    import.end_input();
    CHECK(import.process().wait(60s) == 0);
    CHECK(pets() == sent + 50);
}

}  // namespace

TEST_CASE("idle: a forgotten connection fails no request")
{
    RedisServer redis;
    FaultProxy gateway(redis);
    const Key key = limited_key(redis, 1000);
    import_pets(redis, 3);
    BackEnd back_end;
    NginxOptions options;
    options.redis = gateway.url();
    options = with_shop(options, back_end);

    // Each request is the first one of its own nginx.
    const std::vector<std::function<int(Http&)>> requests = {
        [](Http& http) { return http.get("/v1/pets").status; },
        [](Http& http) { return http.get("/v1/pets/2").status; },
        [](Http& http) { return http.post("/v1/pets", kRex).status - 1; },
        [](Http& http) { return http.get("/shop/").status; },
        [&](Http& http) {
            return http.get("/v1/pets", kUnknownKey).status - 201;
        },
    };
    std::vector<std::unique_ptr<NginxServer>> nginx;
    std::vector<Http> clients;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        nginx.push_back(std::make_unique<NginxServer>(options));
        clients.emplace_back(nginx.back()->url(), key.secret);
        CHECK(requests[i](clients.back()) == 200);
    }
    const auto count = static_cast<int>(requests.size());
    after_idle({&gateway}, count, [&] {
        for (std::size_t i = 0; i < requests.size(); ++i) {
            INFO("request " << i);
            CHECK(requests[i](clients[i]) == 200);
        }
    });
    for (const auto& server : nginx) {
        check_no_failure(*server);
    }
    // None was executed twice.
    CHECK(pets_in(redis) == 3 + 3);
    CHECK(used(redis, key, "day") == 4 * 3);
}

TEST_CASE("idle: a forgotten connection leaves no durable create in doubt")
{
    RedisServer redis(kReplicated);
    RedisServer replica(kReplicated);
    follow(replica, redis);
    FaultProxy gateway(redis);
    const Key key = create_key(redis);
    NginxOptions options;
    options.redis = gateway.url();
    options.location = "petstore_durability replicas=1;";
    const NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    CHECK(http.post("/v1/pets", kRex).status == 201);
    after_idle({&gateway}, 2, [&] {
        std::vector<std::future<int>> creates;
        for (int i = 0; i < 8; ++i) {
            creates.push_back(std::async(std::launch::async, [&] {
                Http client(nginx.url(), key.secret);
                return client.post("/v1/pets", kRex).status;
            }));
        }
        for (auto& create : creates) {
            CHECK(create.get() == 201);
        }
    });
    check_no_failure(nginx);
    CHECK(pets_in(redis) == 1 + 2 * 8);
}

TEST_CASE("idle: forgotten connections to two Redis fail no request")
{
    const TwoRedis redis;
    FaultProxy main(redis.main);
    FaultProxy limits(redis.limits);
    const Key key = redis.limited_key(1000);
    BackEnd back_end;
    NginxOptions options;
    options.redis = main.url();
    options.http = "petstore_limit_redis " + limits.url() + ";";
    const NginxServer nginx(with_shop(options, back_end));
    Http http(nginx.url(), key.secret);
    CHECK(http.post("/v1/pets", kRex).status == 201);
    after_idle({&main, &limits}, 2, [&] {
        CHECK(http.post("/v1/pets", kRex).status == 201);
        CHECK(http.get("/v1/pets/1").status == 200);
        CHECK(http.get("/shop/").status == 200);
    });
    check_no_failure(nginx);
    CHECK(pets_in(redis.main) == 3);
    CHECK(used(redis.limits, key, "day") == 7);
}

TEST_CASE("idle: a restarted limit Redis that lost an epoch revives no key")
{
    TwoRedis redis({"appendonly no"});
    FaultProxy gateway(redis.limits);
    const Key key = redis.limited_key(1000);
    BackEnd back_end;
    NginxOptions options;
    options.redis = redis.main.url();
    options.http = "petstore_limit_redis " + gateway.url() + ";";
    options = with_shop(options, back_end);
    // Each request is the first one of its own nginx.
    const NginxServer guarded(options);
    const NginxServer created(options);
    Http shop(guarded.url(), key.secret);
    Http pets(created.url(), key.secret);
    CHECK(shop.get("/shop/").status == 200);
    CHECK(pets.post("/v1/pets", kRex).status == 201);
    redis.limits.command({"SAVE"});
    REQUIRE(redis.ctl({"key", "disable", key.id}).code == 0);

    // The first request waits for the reply to a check, which never comes, and
    // then for the next connection, to a server that has the old epoch.
    NetworkFault fault;
    fault.forgets_after = kIdle;
    gateway.set(fault);
    REQUIRE(wait_until([&] { return gateway.forgotten() >= 2; }));
    redis.limits.kill_hard();
    redis.limits.start();
    REQUIRE(used(redis.limits, key, "day") == 2);
    CHECK(shop.get("/shop/").status == 401);
    CHECK(pets.post("/v1/pets", kRex).status == 401);
    CHECK(pets_in(redis.main) == 1);
    for (const auto* nginx : {&guarded, &created}) {
        CHECK(count_of(nginx->error_log(), "the idle connection") == 1);
    }
}

TEST_CASE("idle: forgotten connections to a Cluster fail no request")
{
    const GatedCluster cluster;
    NginxOptions options;
    options.redis = cluster.url;
    const NginxServer nginx(options);
    const auto all = [&] {
        for (const Key& key : cluster.keys) {
            Http http(nginx.url(), key.secret);
            CHECK(http.get("/v1/pets").status == 200);
            CHECK(http.post("/v1/pets", kRex).status == 201);
        }
    };
    all();
    after_idle(cluster.gateways, 3, all);
    check_no_failure(nginx);
}

TEST_CASE(
    "idle: a forgotten connection to a Sentinel's primary fails no request")
{
    RedisServer redis({"protected-mode no"});
    FaultProxy gateway(redis);
    SentinelServer sentinel(redis, {}, gateway.port());
    const Key key = create_key(redis);
    NginxOptions options;
    options.redis = "sentinel=pets " + sentinel.url();
    const NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    CHECK(http.post("/v1/pets", kRex).status == 201);
    after_idle({&gateway}, 1, [&] {
        CHECK(http.post("/v1/pets", kRex).status == 201);
        CHECK(http.get("/v1/pets/1").status == 200);
    });
    check_no_failure(nginx);
    CHECK(pets_in(redis) == 3);
}

TEST_CASE("idle: PING is the check where INFO is refused")
{
    RedisServer redis;
    const Key key = create_key(redis);
    redis.command({"ACL", "SETUSER", "default", "-info"});
    FaultProxy gateway(redis);
    NginxOptions options;
    options.redis = gateway.url();
    const NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    CHECK(http.post("/v1/pets", kRex).status == 201);
    after_idle({&gateway}, 1,
               [&] { CHECK(http.post("/v1/pets", kRex).status == 201); });
    check_no_failure(nginx);
    CHECK(pets_in(redis) == 3);
}

TEST_CASE("idle: a slow reply to the check costs a connection, but no request")
{
    RedisServer redis;
    FaultProxy gateway(redis);
    const Key key = limited_key(redis, 1000);
    NginxOptions options;
    options.redis = gateway.url();
    const NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    CHECK(http.post("/v1/pets", kRex).status == 201);
    NetworkFault slow;
    slow.latency = 150ms;
    slow.forgets_after = kIdle;
    gateway.set(slow);
    REQUIRE(wait_until([&] { return gateway.forgotten() == 1; }));
    slow.forgets_after = 0ms;
    gateway.set(slow);
    const auto connections = gateway.connections();
    CHECK(http.post("/v1/pets", kRex).status == 201);
    CHECK(gateway.connections() == connections + 1);
    CHECK(pets_in(redis) == 2);
    CHECK(used(redis, key, "minute") == 2);
    CHECK(count_of(nginx.error_log(), "[error]") == 0);
}

TEST_CASE("idle: a Redis that died meanwhile costs one connect timeout")
{
    RedisServer redis;
    FaultProxy gateway(redis);
    const Key key = create_key(redis);
    NginxOptions options;
    options.redis = gateway.url();
    options.location =
        "petstore_redis_connect_timeout 2s; petstore_redis_timeout 60s;";
    const NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    NetworkFault fault;
    fault.forgets_after = kIdle;
    gateway.set(fault);
    REQUIRE(wait_until([&] { return gateway.forgotten() == 1; }));
    fault.half_open = true;
    gateway.set(fault);
    const auto start = Clock::now();
    expect_error(http.get("/v1/pets"), 503, "service_unavailable");
    CHECK(Clock::now() - start < 30s);
    // The breaker is open.
    const auto swallowed = gateway.swallowed();
    CHECK(swallowed > 0);
    for (int i = 0; i < 20; ++i) {
        expect_error(http.get("/v1/pets"), 503, "service_unavailable");
    }
    CHECK(count_of(nginx.error_log(), "[error]") == 1);
    gateway.heal();
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
}

TEST_CASE("idle: petstorectl goes on after a pause of its input")
{
    SECTION("one Redis")
    {
        RedisServer redis;
        FaultProxy gateway(redis);
        import_with_pauses(gateway.url(), {&gateway},
                           [&] { return pets_in(redis); });
        // More if this machine pauses, too.
        CHECK(gateway.connections() >= 3);
    }
    SECTION("Sentinel")
    {
        RedisServer redis({"protected-mode no"});
        FaultProxy gateway(redis);
        const SentinelServer sentinel(redis, {}, gateway.port());
        import_with_pauses("sentinel=pets " + sentinel.url(), {&gateway},
                           [&] { return pets_in(redis); });
    }
    SECTION("Cluster")
    {
        GatedCluster cluster;
        const auto& catalogue = cluster.redis.server(cluster.catalogue);
        import_with_pauses(cluster.url, {cluster.gateways[cluster.catalogue]},
                           [&] { return pets_in(catalogue); });
    }
}

TEST_CASE("idle: petstorectl outlasts the timeout of a Redis on a unix socket")
{
    RedisServer redis({"timeout 3"});
    SlowImport import(redis.url());
    import.write(lines(300));
    REQUIRE(wait_until([&] { return pets_in(redis) == 256; }));
    REQUIRE(wait_until([&] { return redis.info("connected_clients") == 1; }));
    import.end_input();
    CHECK(import.process().wait(60s) == 0);
    CHECK(pets_in(redis) == 300);
}

TEST_CASE("idle: petstorectl does not go on with a Redis that lost its data")
{
    RedisServer redis;
    FaultProxy gateway(redis);
    SlowImport import(gateway.url());
    import.write(lines(300));
    REQUIRE(wait_until([&] { return pets_in(redis) >= 256; }));
    NetworkFault fault;
    fault.forgets_after = kIdle;
    gateway.set(fault);
    REQUIRE(wait_until([&] { return gateway.forgotten() == 1; }));
    redis.kill_hard();
    redis.start();
    import.end_input();
    const auto message = import.failure();
    INFO(message);
    CHECK(contains(message, "Redis was restarted or replaced meanwhile"));
    CHECK(contains(message, "imported 256 pets, the last one from line 256"));
    CHECK(pets_in(redis) <= 256);
}

TEST_CASE("idle: petstorectl does not go on where INFO is refused")
{
    RedisServer redis;
    redis.command({"ACL", "SETUSER", "default", "-info"});
    FaultProxy gateway(redis);
    SlowImport import(gateway.url());
    import.write(lines(300));
    REQUIRE(wait_until([&] { return pets_in(redis) >= 256; }));
    NetworkFault fault;
    fault.forgets_after = kIdle;
    gateway.set(fault);
    REQUIRE(wait_until([&] { return gateway.forgotten() == 1; }));
    import.end_input();
    const auto message = import.failure();
    INFO(message);
    CHECK(contains(message, "imported 256 pets, the last one from line 256"));
    CHECK(contains(message, "without INFO it is unknown"));
    CHECK(pets_in(redis) == 256);
}

TEST_CASE("idle: workers check connections that nobody uses")
{
    RedisServer redis(kReplicated);
    RedisServer replica(kReplicated);
    follow(replica, redis);
    const Key key = create_key(redis);
    NginxOptions options;
    options.redis = redis.tcp_url();
    options.location = "petstore_durability replicas=1;";
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    CHECK(http.post("/v1/pets", kRex).status == 201);
    Monitor monitor(redis);
    // On both of the worker's connections, within 30 seconds.
    std::set<std::string> checked;
    CHECK(wait_until([&] {
        for (const auto& command : monitor.commands()) {
            if (command.role_check) {
                const auto from = command.line.find('[');
                checked.insert(
                    command.line.substr(from, command.line.find(']') - from));
            }
        }
        return checked.size() >= 2;
    }));
    // The timer does not delay the exit; quit() waits for it.
    nginx.quit();
}
