// Redis behind Sentinels: real servers, real failovers.
#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "support/certificates.h"
#include "support/limits.h"
#include "support/old_clients.h"
#include "support/sentinels.h"

using namespace petstore::e2e;

namespace {

// docs/sentinel.md; counted from a Sentinel's switch or a server's return.
constexpr auto kBound = 2s;

std::string new_pet(const std::string& name)
{
    return "{\"name\":\"" + name + "\",\"categoryId\":7}";
}

std::size_t lines_with(const NginxServer& nginx, const std::string& part)
{
    std::size_t count = 0;
    for (const auto& line : split(nginx.error_log(), '\n')) {
        count += contains(line, part) ? 1 : 0;
    }
    return count;
}

// Timeouts that even a busy machine does not reach.
NginxOptions patient(const std::string& redis)
{
    NginxOptions options;
    options.redis = redis;
    options.location =
        "petstore_redis_timeout 5s; petstore_redis_connect_timeout 5s;";
    return options;
}

// Connections of nginx to a Redis or Sentinel.
std::size_t clients_of(const RedisServer& redis)
{
    std::size_t count = 0;
    for (const auto& line :
         split(redis.command({"CLIENT", "LIST"}).text, '\n')) {
        count += !contains(line, "name=sentinel-")
                         && (contains(line, "cmd=subscribe")
                             || contains(line, "cmd=ping")
                             || contains(line, "cmd=info")
                             || contains(line, "cmd=eval"))
                     ? 1
                     : 0;
    }
    return count;
}

// The number of script calls; all writes of nginx are script calls. A replica
// does not see a primary's script calls but the commands they executed.
long long scripts_of(const RedisServer& redis)
{
    long long calls = 0;
    for (const auto& line :
         split(redis.command({"INFO", "commandstats"}).text, '\n')) {
        if (line.rfind("cmdstat_eval", 0) == 0) {
            calls += std::atoll(line.c_str() + line.find("calls=") + 6);
        }
    }
    return calls;
}

// Clients that continuously get, list and create.
class Load {
public:
    Load(const NginxServer& nginx, const Key& key, int threads = 4)
    {
        for (int i = 0; i < threads; ++i) {
            threads_.emplace_back([this, url = nginx.url(), secret = key.secret,
                                   i] {
                Http http(url, secret);
                for (int n = 0; !ending_; ++n) {
                    create(http, std::to_string(i) + "-" + std::to_string(n));
                    note(http.get("/v1/pets?limit=5"), 200);
                }
            });
        }
    }
    ~Load() { end(); }

    void end()
    {
        ending_ = true;
        for (auto& thread : threads_) {
            thread.join();
        }
        threads_.clear();
    }

    // Returns once `more` creates were acknowledged.
    bool continues(std::size_t more = 20)
    {
        const std::size_t wanted = acknowledged_ + more;
        return wait_until([&] { return acknowledged_ >= wanted; });
    }

    std::size_t unexpected() const { return unexpected_; }
    std::size_t failed() const { return failed_; }
    std::size_t repeated_ids() const { return repeated_; }
    std::size_t acknowledged() const { return acknowledged_; }

    // The ids and names of acknowledged pets.
    std::map<long long, std::string> created()
    {
        const std::lock_guard lock(mutex_);
        return created_;
    }

private:
    void create(Http& http, const std::string& name)
    {
        const auto response = http.post("/v1/pets", new_pet(name));
        note(response, 201);
        if (response.status != 201) {
            return;
        }
        const auto json = response.json();
        unexpected_ += json.value("name", "") != name;
        const std::lock_guard lock(mutex_);
        ++acknowledged_;
        repeated_ += !created_.emplace(json.value("id", 0LL), name).second;
    }

    void note(const Response& response, int expected)
    {
        failed_ += response.status == 503;
        unexpected_ += response.status != expected && response.status != 503;
    }

    std::atomic<bool> ending_{false};
    std::atomic<std::size_t> unexpected_{0};
    std::atomic<std::size_t> failed_{0};
    std::atomic<std::size_t> repeated_{0};
    std::atomic<std::size_t> acknowledged_{0};
    std::mutex mutex_;
    std::map<long long, std::string> created_;
    std::vector<std::thread> threads_;
};

struct World {
    using Change = std::function<void(NginxOptions&, const Sentinels&)>;

    explicit World(Sentinels::Options options = {}, int workers = 1,
                   const Change& change = nullptr)
        : redis(std::move(options)),
          key(limited_key(redis.server(0), 1'000'000)), nginx([&] {
              auto nginx_options = patient(redis.url());
              nginx_options.workers = workers;
              if (change) {
                  change(nginx_options, redis);
              }
              return nginx_options;
          }()),
          http(nginx.url(), key.secret), workers_(nginx.workers())
    {
        // Waits until all servers have the key.
        for (std::size_t i = 0; i < redis.count(); ++i) {
            REQUIRE(wait_until([&] {
                return redis.server(i).command({"DBSIZE"}).integer
                       == redis.server(0).command({"DBSIZE"}).integer;
            }));
        }
    }

    bool same_workers() const { return nginx.workers() == workers_; }

    Sentinels redis;
    Key key;
    NginxServer nginx;
    Http http;

private:
    std::vector<pid_t> workers_;
};

bool is_replica(const RedisServer& redis)
{
    try {
        return contains(redis.command({"INFO", "replication"}).text,
                        "role:slave");
    } catch (const HarnessError&) {
        return false;  // a new replica closes its connections
    }
}

}  // namespace

TEST_CASE("sentinel: the primary serves from the first request on")
{
    World world({}, 2);
    CHECK(world.http.post("/v1/pets", new_pet("Rex")).status == 201);
    for (int i = 0; i < 20; ++i) {
        CHECK(Http(world.nginx.url(), world.key.secret).get("/v1/pets/1").status
              == 200);
    }
    CHECK(lines_with(world.nginx, "[error]") == 0);
    CHECK(lines_with(world.nginx, "[warn]") == 0);
    // Each worker has a connection to one Sentinel, and one to the primary.
    CHECK(wait_until([&] { return clients_of(world.redis.sentinel(0)) == 2; }));
    CHECK(world.redis.server(1).command({"DBSIZE"}).integer > 0);

    // Idle connections do not keep workers from ending.
    const auto before = Clock::now();
    world.nginx.quit();
    CHECK(Clock::now() - before < 60s);
}

TEST_CASE("sentinel: a manual failover is followed at once")
{
    World world;
    Load load(world.nginx, world.key);
    REQUIRE(load.continues());
    // The procedure of docs/sentinel.md: nothing is written to the old
    // primary after the new one was promoted.
    world.redis.server(0).command({"CLIENT", "PAUSE", "60000", "WRITE"});
    REQUIRE(wait_until([&] {
        const auto offset = world.redis.server(0).info("master_repl_offset");
        return world.redis.server(1).info("slave_repl_offset") >= offset
               && world.redis.server(2).info("slave_repl_offset") >= offset;
    }));
    REQUIRE(
        world.redis.sentinel(1).command({"SENTINEL", "FAILOVER", "main"}).text
        == "OK");
    const auto now = world.redis.wait_for_other_than(0);
    const auto bound = Clock::now() + kBound;
    CHECK(kept_by(bound, [&] {
        return Http(world.nginx.url(), world.key.secret).get("/v1/pets").status
               == 200;
    }));
    REQUIRE(load.continues());
    load.end();
    CHECK(load.unexpected() == 0);
    CHECK(load.repeated_ids() == 0);
    // Every acknowledged pet is stored.
    for (const auto& [id, name] : load.created()) {
        CHECK(world.http.get("/v1/pets/" + std::to_string(id)).json()["name"]
              == name);
    }
    CHECK(world.same_workers());
    CHECK(lines_with(world.nginx, "primary changed to") == 1);
    CHECK(wait_until([&] { return clients_of(world.redis.server(now)) == 1; }));
    CHECK(lines_with(world.nginx, "[error]") <= 1);
}

TEST_CASE("sentinel: a primary that dies is replaced")
{
    World world({}, 2);
    Load load(world.nginx, world.key);
    REQUIRE(load.continues());
    const auto old = world.redis.primary();
    const auto killed = Clock::now();
    world.redis.server(old).kill_hard();
    world.redis.wait_for_other_than(old);
    const auto bound = Clock::now() + kBound;
    INFO("failover after " << (Clock::now() - killed) / 1ms << " ms");
    CHECK(kept_by(bound, [&] {
        return Http(world.nginx.url(), world.key.secret).get("/v1/pets").status
               == 200;
    }));
    REQUIRE(load.continues());
    load.end();
    CHECK(load.unexpected() == 0);
    CHECK(world.same_workers());
    // One line for each worker.
    CHECK(lines_with(world.nginx, "[error]") <= 2);
    CHECK(wait_until(
        [&] { return lines_with(world.nginx, "primary changed to") == 2; }));

    // Pets acknowledged by the new primary keep their ids.
    for (int i = 0; i < 10; ++i) {
        const auto made = world.http.post("/v1/pets", new_pet("after"));
        CHECK(made.status == 201);
        CHECK(world.http.get(made.header("location")).json()["name"]
              == "after");
    }
    // The old primary comes back as a replica and is not used.
    world.redis.server(old).start();
    world.redis.wait_until_settled();
    CHECK(wait_until([&] {
        for (std::size_t i = 0; i < world.redis.count(); ++i) {
            if (i != world.redis.primary()
                && clients_of(world.redis.server(i)) != 0) {
                return false;
            }
        }
        return true;
    }));
}

TEST_CASE("sentinel: nothing is written to a primary that was stopped")
{
    World world;
    Load load(world.nginx, world.key);
    REQUIRE(load.continues());
    const auto old = world.redis.primary();
    world.redis.server(old).pause();
    const auto now = world.redis.wait_for_other_than(old);
    CHECK(kept_by(Clock::now() + 6s, [&] {
        return Http(world.nginx.url(), world.key.secret).get("/v1/pets").status
               == 200;
    }));
    REQUIRE(load.continues());

    // For a moment it still acts as the primary, and executes what it had
    // received before it accepts this connection.
    world.redis.server(old).resume();
    const auto received = scripts_of(world.redis.server(old));
    REQUIRE(load.continues(100));
    CHECK(wait_until([&] { return is_replica(world.redis.server(old)); }));
    REQUIRE(load.continues());
    load.end();
    CHECK(scripts_of(world.redis.server(old)) == received);
    CHECK(load.unexpected() == 0);
    CHECK(world.same_workers());
    CHECK(wait_until([&] { return clients_of(world.redis.server(old)) == 0; }));
    CHECK(wait_until([&] { return clients_of(world.redis.server(now)) == 1; }));
    CHECK(lines_with(world.nginx, "[error]") <= 1);

    // The last acknowledged pet is the new primary's.
    const auto created = load.created();
    REQUIRE_FALSE(created.empty());
    const auto last = std::to_string(created.rbegin()->first);
    CHECK(world.http.get("/v1/pets/" + last).json()["name"]
          == created.rbegin()->second);
}

TEST_CASE(
    "sentinel: a primary named by SENTINEL MONITOR replaces the one before")
{
    World world({}, 2);
    CHECK(world.http.get("/v1/pets").status == 200);
    // Both stay primaries, so only the Sentinels' answer says which one to use.
    world.redis.server(1).command({"REPLICAOF", "NO", "ONE"});
    for (std::size_t i = 0; i < 3; ++i) {
        auto& sentinel = world.redis.sentinel(i);
        CHECK(sentinel.command({"SENTINEL", "REMOVE", "main"}).text == "OK");
        CHECK(sentinel
                  .command({"SENTINEL", "MONITOR", "main", own_address(),
                            std::to_string(world.redis.port(1)), "2"})
                  .text
              == "OK");
    }
    CHECK(kept_by(Clock::now() + 10s + kBound, [&] {
        return lines_with(world.nginx, "primary changed to") == 2;
    }));
    CHECK(wait_until([&] {
        return clients_of(world.redis.server(0)) == 0
               && clients_of(world.redis.server(1)) == 2;
    }));
    CHECK(world.http.get("/v1/pets").status == 200);
    CHECK(lines_with(world.nginx, "[error]") == 0);
    CHECK(world.same_workers());
}

TEST_CASE("sentinel: a primary manually made a replica is not used")
{
    World world;
    CHECK(world.http.get("/v1/pets").status == 200);
    // Sentinels do not notice this for a while.
    world.redis.server(0).command(
        {"REPLICAOF", own_address(), std::to_string(world.redis.port(1))});
    CHECK(wait_until([&] { return world.http.get("/v1/pets").status == 503; }));
    for (int i = 0; i < 20; ++i) {
        CHECK(world.http.post("/v1/pets", new_pet("x")).status == 503);
    }
    CHECK(lines_with(world.nginx, ": is a replica") == 1);
    world.redis.server(0).command({"REPLICAOF", "NO", "ONE"});
    CHECK(kept_by(Clock::now() + kBound,
                  [&] { return world.http.get("/v1/pets").status == 200; }));
    CHECK(lines_with(world.nginx, "[error]") == 1);
    CHECK(world.same_workers());
}

TEST_CASE("sentinel: limits are never exceeded beyond what a failover loses")
{
    World world({}, 2);
    // A primary's unreplicated writes are lost with it. Here there are none,
    // because clients pause before it dies.
    const auto key = create_key(
        world.redis.server(0),
        {"--plan", "enterprise", "--per-minute", "100000", "--per-day", "200"});
    const auto allowed = [&](int requests) {
        int passed = 0;
        Http http(world.nginx.url(), key.secret);
        for (int i = 0; i < requests; ++i) {
            const auto status = http.get("/v1/pets").status;
            passed += status == 200;
            CHECK((status == 200 || status == 429 || status == 503));
        }
        return passed;
    };
    const int before = allowed(150);
    CHECK(before == 150);
    REQUIRE(world.redis.server(0).command({"WAIT", "2", "10000"}).integer == 2);
    REQUIRE(wait_until([&] {
        const auto offset = world.redis.server(0).info("master_repl_offset");
        return world.redis.server(1).info("slave_repl_offset") >= offset
               && world.redis.server(2).info("slave_repl_offset") >= offset;
    }));
    world.redis.server(0).kill_hard();
    world.redis.wait_for_other_than(0);
    int after = 0;
    REQUIRE(wait_until([&] { return (after = allowed(1)) == 1; }));
    after += allowed(300);
    CHECK(before + after <= 200);
    CHECK(before + after >= 199);
}

TEST_CASE("sentinel: a reload during a failover")
{
    World world;
    Load load(world.nginx, world.key, 2);
    REQUIRE(load.continues());
    world.redis.server(0).kill_hard();
    world.nginx.reload();
    const auto now = world.redis.wait_for_other_than(0);
    world.nginx.reload();
    CHECK(kept_by(Clock::now() + kBound, [&] {
        return Http(world.nginx.url(), world.key.secret).get("/v1/pets").status
               == 200;
    }));
    REQUIRE(load.continues());
    world.nginx.reload_and_settle();
    REQUIRE(load.continues());
    load.end();
    CHECK(load.unexpected() == 0);
    CHECK(wait_until([&] { return clients_of(world.redis.server(now)) == 1; }));
}

TEST_CASE("sentinel: the old worker of a reload follows a failover")
{
    World world;
    OldClients clients(world.nginx, world.key);
    world.redis.server(0).kill_hard();
    expect_error(clients.get(), 503, "service_unavailable");
    world.redis.wait_for_other_than(0);
    CHECK(clients.recover());
}

namespace {

// Every connection is encrypted, and every program needs a password.
std::vector<std::string> tls_lines(const CertificateAuthority& ca, int port)
{
    return {"tls-port " + std::to_string(port),
            "tls-cert-file " + ca.file("server.crt"),
            "tls-key-file " + ca.file("server.key"),
            "tls-ca-cert-file " + ca.certificate(),
            "tls-auth-clients no",
            "tls-replication yes"};
}

}  // namespace

TEST_CASE("sentinel: TLS and passwords everywhere")
{
    CertificateAuthority ca;
    ca.issue("server", "IP:" + own_address());
    Sentinels::Options options;
    options.tls = [&](int port) { return tls_lines(ca, port); };
    options.password = "server-secret";
    options.sentinels = {"requirepass sentinel-secret",
                         "sentinel sentinel-pass sentinel-secret"};
    remember_secret("server-secret");
    remember_secret("sentinel-secret");
    // For petstorectl.
    setenv("REDISCLI_AUTH", options.password.c_str(), 1);
    World world(options, 1, [&](NginxOptions& nginx, const Sentinels& redis) {
        nginx.redis = redis.url(":sentinel-secret@");
        nginx.http = "petstore_redis_ssl_trusted_certificate "
                     + ca.certificate() + "; " + "petstore_redis_password_file "
                     + ca.file("password") + ";";
        write_file(ca.file("password"), "server-secret\n");
    });
    unsetenv("REDISCLI_AUTH");
    CHECK(world.http.post("/v1/pets", new_pet("Rex")).status == 201);
    CHECK(lines_with(world.nginx, "[error]") == 0);
    world.redis.server(0).kill_hard();
    world.redis.wait_for_other_than(0);
    CHECK(kept_by(Clock::now() + kBound,
                  [&] { return world.http.get("/v1/pets").status == 200; }));
    CHECK(world.same_workers());
}
