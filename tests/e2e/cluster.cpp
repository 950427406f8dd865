// A Redis Cluster: where requests are sent, and what one failed server affects.
#include "support/certificates.h"
#include "support/cluster_world.h"
#include "support/sparse_catalogue.h"
#include "support/two_redis.h"

using namespace petstore::e2e;

namespace {

constexpr char kPet[] = "{\"name\":\"n\",\"categoryId\":1}";

// An unreachable primary keeps its slots; the others keep serving theirs.
ClusterServers::Options without_failover()
{
    ClusterServers::Options servers;
    servers.config = {"cluster-require-full-coverage no"};
    servers.node_timeout = 60'000;
    return servers;
}

// The number of script calls that a server has received.
long long scripts_of(const RedisServer& redis)
{
    const auto counts = command_counts(redis);
    long long calls = 0;
    for (const char* name : {"eval", "evalsha"}) {
        const auto found = counts.find(name);
        calls += found == counts.end() ? 0 : found->second;
    }
    return calls;
}

}  // namespace

TEST_CASE("cluster: requests go to the primary of their slot")
{
    ClusterWorld world;
    for (std::size_t i = 0; i < 3; ++i) {
        const auto key = world.redis.limited_key(100, i);
        Http http(world.nginx.url(), key.secret);
        CHECK(http.get("/v1/pets/1").body
              == pet_json(1, "pet 1", "7", "available"));
        const auto before = scripts_of(world.redis.server(i));
        CHECK(http.get("/v1/pets?limit=2").status == 200);
        CHECK(http.post("/v1/pets", kPet).status == 201);
        CHECK(scripts_of(world.redis.server(i)) >= before + 2);
        CHECK(world.redis.command({"STRLEN", account_key(key, "state")}).integer
              == 80);
        // Exact across workers, with many concurrent requests.
        check_exact(world.exhaust(world.redis.limited_key(100, i), 100), 100);
    }
    CHECK(walk(world.http, "/v1/pets?limit=5").size() == 13);
    CHECK(walk(world.http, "/v1/pets?limit=5&status=available").size() == 13);
    // Replicas receive no scripts.
    for (std::size_t i = 3; i < 6; ++i) {
        CHECK(scripts_of(world.redis.server(i)) == 0);
    }
    CHECK(world.lines_with("[warn]") == 0);
    CHECK(world.lines_with("[error]") == 0);

    // The marker says that the counters have moved away: they must not be used.
    world.redis.command({"SET", "petstore:limits-place", "elsewhere x"});
    const auto known = world.redis.limited_key(100, 1);
    expect_error(Http(world.nginx.url(), known.secret).get("/v1/pets"), 503,
                 "service_unavailable");
    CHECK(world.lines_with("petstore_limit_redis") > 0);
    CHECK(world.redis.command({"EXISTS", account_key(known, "state")}).integer
          == 0);
    CHECK(world.http.get("/v1/pets").status == 200);
    world.redis.command({"SET", "petstore:limits-place", "here x"});
    CHECK(Http(world.nginx.url(), known.secret).get("/v1/pets").status == 200);

    // One of the configured addresses is dead.
    NginxOptions options;
    options.redis = "cluster redis://" + own_address() + ":"
                    + std::to_string(free_port()) + " redis://"
                    + world.redis.address(4);
    for (int i = 0; i < 3; ++i) {
        const NginxServer other(options);
        CHECK(Http(other.url(), world.key.secret).get("/v1/pets").status
              == 200);
        CHECK_FALSE(contains(other.error_log(), "[error]"));
    }

    // Counters in the Cluster and everything else on one Redis, and vice versa.
    const RedisServer single;
    const auto key = create_key(single);
    NginxOptions two;
    two.redis = single.url();
    two.location += "petstore_limit_redis " + world.redis.url() + ";";
    {
        const NginxServer other(two);
        CHECK(Http(other.url(), key.secret).post("/v1/pets", kPet).status
              == 201);
        CHECK(world.redis.command({"EXISTS", account_key(key, "state")}).integer
              == 1);
    }
    two = {};
    two.redis = world.redis.url();
    two.location += "petstore_limit_redis " + single.url() + ";";
    {
        const NginxServer other(two);
        CHECK(Http(other.url(), world.key.secret).get("/v1/pets/1").status
              == 200);
        CHECK(
            single.command({"EXISTS", account_key(world.key, "state")}).integer
            == 1);
    }
    CHECK(world.same_workers());
}

TEST_CASE("cluster: with TLS and a password")
{
    const CertificateAuthority ca;
    ca.issue("server", "IP:" + own_address());
    const std::string password = "cluster-geheim-5";
    remember_secret(password);
    ClusterServers::Options servers;
    servers.password = password;
    servers.tls = [&](int port) -> std::vector<std::string> {
        return {"tls-port " + std::to_string(port),
                "tls-cluster yes",
                "tls-replication yes",
                "tls-cert-file " + ca.file("server.crt"),
                "tls-key-file " + ca.file("server.key"),
                "tls-ca-cert-file " + ca.certificate(),
                "tls-auth-clients no"};
    };
    NginxOptions options;
    options.http =
        "petstore_redis_ssl_trusted_certificate " + ca.certificate() + ";";
    const ClusterWorld world(servers, options, ":" + password + "@");
    for (std::size_t i = 0; i < 3; ++i) {
        check_exact(world.exhaust(world.redis.limited_key(50, i), 50), 50);
    }
    CHECK(world.lines_with("[error]") == 0);

    // A name that is not in any certificate.
    auto other = options;
    other.http += "petstore_redis_ssl_name redis.test;";
    other.redis = world.redis.url(":" + password + "@");
    const NginxServer stranger(other);
    CHECK(Http(stranger.url(), world.key.secret).get("/v1/pets").status == 503);
    CHECK(contains(stranger.error_log(), "does not match"));
}

TEST_CASE("cluster: metrics and readiness report an unreachable server")
{
    NginxOptions options;
    options.location =
        "petstore_redis_connect_timeout 2s; petstore_redis_timeout 2s;";
    options.server =
        "location = /status { petstore_status; } location = /readyz { petstore_health ready; }";
    ClusterWorld world(without_failover(), options);
    const auto away = world.other_primary();
    const auto key = world.redis.limited_key(1'000'000, away);
    Http client(world.nginx.url(), key.secret);
    REQUIRE(client.get("/v1/pets/1").status == 200);
    const auto line = [&world](std::size_t server, int up) {
        return "\npetstore_redis_up{redis=\"redis://"
               + world.redis.address(server) + "/0\"} " + std::to_string(up)
               + "\n";
    };
    const auto text = [&world] {
        return Http(world.nginx.url()).get("/status").body;
    };
    for (std::size_t server = 0; server < 3; ++server) {
        CHECK(contains(text(), line(server, 1)));
    }

    world.redis.server(away).pause();
    CHECK(wait_until([&] {
        return client.get("/v1/pets/1").status == 503
               && contains(text(), line(away, 0));
    }));
    const auto now = text();
    for (std::size_t server = 0; server < 3; ++server) {
        CHECK(contains(now, line(server, server == away ? 0 : 1)));
    }
    // The same connection, and so the worker that has seen the failure.
    CHECK(client.get("/readyz").status == 503);
    world.redis.server(away).resume();
    CHECK(wait_until([&] {
        client.get("/v1/pets/1");
        return contains(text(), line(away, 1));
    }));
    CHECK(wait_until([&] { return client.get("/readyz").status == 204; }));
}

TEST_CASE("cluster: an idle worker finds out that a primary is unreachable")
{
    NginxOptions options;
    options.location = "petstore_redis_timeout 2s;";
    options.server = "location = /readyz { petstore_health ready; }";
    ClusterWorld world(without_failover(), options);
    const auto ready = [&world] {
        return Http(world.nginx.url()).get("/readyz").status;
    };
    CHECK(wait_until([&] { return ready() == 204; }));
    const auto primary = world.other_primary();
    auto& away = world.redis.server(primary);
    SECTION("its replica replaces it")
    {
        const auto replica = world.redis.replica_of(primary);
        away.stop();
        CHECK(wait_until([&] { return ready() == 503; }));
        world.redis.fail_over(replica, "TAKEOVER");
    }
    SECTION("it hangs")
    {
        away.pause();
        CHECK(wait_until([&] { return ready() == 503; }));
        away.resume();
    }
    SECTION("it has ended")
    {
        away.stop();
        CHECK(wait_until([&] { return ready() == 503; }));
        away.start();
    }
    CHECK(wait_until([&] { return ready() == 204; }));
}

TEST_CASE("cluster: a hanging server delays only requests that need it")
{
    ClusterServers::Options servers;
    servers.config = {"cluster-require-full-coverage no"};
    servers.node_timeout = 4000;
    NginxOptions options;
    // Longer than a busy machine stalls, shorter than a replica takes to take
    // over.
    options.location =
        "petstore_redis_timeout 2s; petstore_redis_connect_timeout 2s;";
    ClusterWorld world(servers, options);
    const auto stopped = world.other_primary();
    const auto other = 3 - stopped - world.catalogue_server();
    const auto near = world.redis.limited_key(1'000'000, stopped);
    const auto far = world.redis.limited_key(1'000'000, other);
    Http slow(world.nginx.url(), near.secret);
    Http fast(world.nginx.url(), far.secret);
    // Both workers cache the keys.
    for (int i = 0; i < 20; ++i) {
        for (const auto* key : {&near, &far}) {
            REQUIRE(
                Http(world.nginx.url(), key->secret).get("/v1/pets/1").status
                == 200);
        }
    }
    const auto replica = world.redis.replica_of(stopped);
    const auto took_over = [&] {
        const auto role = world.redis.server(replica).command({"ROLE"});
        return contains(role.items.at(0).text, "master");
    };
    world.redis.server(stopped).pause();
    std::atomic<int> refused{0};
    Meanwhile waiting(
        0ms, [&] { refused += slow.get("/v1/pets/1").status == 503 ? 1 : 0; });
    // The replica takes over within seconds, without affecting these requests.
    std::vector<std::chrono::duration<double>> times;
    int failed = 0;
    while (times.size() < 50 || !took_over()) {
        const auto before = Clock::now();
        failed += fast.get("/v1/pets/1").status == 200 ? 0 : 1;
        times.emplace_back(Clock::now() - before);
    }
    const auto promoted = Clock::now();
    waiting.end();
    CHECK(failed == 0);
    CHECK(refused > 0);
    std::sort(times.begin(), times.end());
    // None waited for the timeout.
    CHECK(times[times.size() * 9 / 10] < 1500ms);
    CHECK(kept_by(promoted + 4s,
                  [&] { return slow.get("/v1/pets/1").status == 200; }));
    CHECK(world.lines_with(world.redis.address(stopped) + "/0: timed out") > 0);
    world.redis.server(stopped).resume();
    CHECK(world.same_workers());
}

TEST_CASE("cluster: a slot without a server fails its requests only")
{
    ClusterServers::Options servers;
    servers.config = {"cluster-require-full-coverage no"};
    ClusterWorld world(servers);
    const auto lost = world.other_primary();
    const auto key = world.redis.limited_key(1'000'000, lost);
    Http http(world.nginx.url(), key.secret);
    REQUIRE(http.get("/v1/pets/1").status == 200);
    const auto slot = ClusterWorld::slot_of(key);
    world.redis.server(lost).command(
        {"CLUSTER", "DELSLOTS", std::to_string(slot)});
    expect_error(http.get("/v1/pets/1"), 503, "service_unavailable");
    CHECK(world.http.get("/v1/pets/1").status == 200);
    world.redis.server(lost).command(
        {"CLUSTER", "ADDSLOTS", std::to_string(slot)});
    CHECK(kept_by(Clock::now() + 1s,
                  [&] { return http.get("/v1/pets/1").status == 200; }));
    CHECK(world.same_workers());

    // The servers report that the whole Cluster is down.
    for (std::size_t i = 0; i < 6; ++i) {
        world.redis.server(i).command(
            {"CONFIG", "SET", "cluster-require-full-coverage", "yes"});
    }
    world.redis.server(lost).command(
        {"CLUSTER", "DELSLOTS", std::to_string(slot)});
    CHECK(wait_until([&] { return http.get("/v1/pets/1").status == 503; }));
    world.redis.server(lost).command(
        {"CLUSTER", "ADDSLOTS", std::to_string(slot)});
    CHECK(kept_by(Clock::now() + 2s,
                  [&] { return http.get("/v1/pets/1").status == 200; }));
    CHECK(world.http.post("/v1/pets", kPet).status == 201);
    CHECK(world.lines_with("CLUSTERDOWN") > 0);
    CHECK(world.same_workers());
}

TEST_CASE(
    "cluster: without the primary of the marker, other accounts are served")
{
    const bool hangs = GENERATE(false, true);
    auto options = without_failover();
    options.replicas = false;
    options.config.push_back("appendonly yes");
    ClusterServers limits(options);
    const RedisServer main;
    const auto lost = limits.owner(ClusterServers::slot_of(kLimitsMarker));
    std::optional<Key> near;
    std::optional<Key> far;
    while (!near || !far) {
        const auto key = create_key(main, {"--limit-redis", limits.url()});
        const auto owner = limits.owner(ClusterServers::slot_of(key.account));
        (owner == lost ? near : far) = key;
    }
    NginxOptions nginx_options;
    nginx_options.redis = main.url();
    nginx_options.http += "petstore_limit_redis " + limits.url() + ";";
    nginx_options.location =
        "petstore_redis_timeout 2s; petstore_redis_connect_timeout 2s;";
    NginxServer nginx(nginx_options);
    Http of_lost(nginx.url(), near->secret);
    Http of_other(nginx.url(), far->secret);
    REQUIRE(of_lost.get("/v1/pets").status == 200);
    REQUIRE(of_other.get("/v1/pets").status == 200);

    auto& server = limits.server(lost);
    if (hangs) {
        server.pause();
    } else {
        server.kill_hard();
    }
    for (int i = 0; i < 3; ++i) {
        CHECK(of_lost.get("/v1/pets").status == 503);
        for (int j = 0; j < 20; ++j) {
            CHECK(of_other.get("/v1/pets").status == 200);
        }
    }
    if (hangs) {
        server.resume();
    } else {
        server.start();
    }
    CHECK(wait_until([&] { return of_lost.get("/v1/pets").status == 200; }));

    // Another store's limits are noticed as soon as the server is back.
    const auto marker = limits.command({"GET", kLimitsMarker}).text;
    limits.command({"SET", kLimitsMarker, "here another"});
    server.kill_hard();
    CHECK(wait_until([&] { return of_lost.get("/v1/pets").status == 503; }));
    CHECK(of_other.get("/v1/pets").status == 200);
    server.start();
    CHECK(wait_until([&] { return of_other.get("/v1/pets").status == 503; }));
    CHECK(contains(nginx.error_log(), "has the limits of another store"));
    limits.command({"SET", kLimitsMarker, marker});
    CHECK(wait_until([&] { return of_other.get("/v1/pets").status == 200; }));
}

TEST_CASE("cluster: a search through a large catalogue follows its slot")
{
    constexpr long long kMany = 100'000'000;
    ClusterWorld world;
    const auto from = world.catalogue_server();
    SparseCatalogue sparse(world.redis.server(from), kMany);
    sparse.place(5);
    sparse.place(kMany);
    const auto sold = [](long long id) {
        return pet_json(id, "x", "1", "sold");
    };
    // Each request asks for a page of a different size, so none is served from
    // memory.
    int limit = 3;
    const auto page = [&] {
        return world.http
            .get("/v1/pets?status=sold&limit=" + std::to_string(limit++))
            .body;
    };
    const auto both = "[" + sold(5) + "," + sold(kMany) + "]";
    CHECK(page() == both);

    const auto to = world.other_primary();
    world.redis.move_slot(ClusterWorld::catalogue_slot(), from, to);
    CHECK(page() == both);
    CHECK(page() == both);

    const auto result =
        ctl(world.redis.url(), {"pet", "set-status", "7", "sold"});
    INFO(result.err);
    CHECK(result.code == 0);
    CHECK(page()
          == "[" + sold(5) + "," + pet_json(7, "pet 7", "7", "sold") + ","
                 + sold(kMany) + "]");
    CHECK(world.lines_with("is damaged") == 0);
    CHECK(world.same_workers());
}
