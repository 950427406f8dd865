// petstore_limit_redis: counters and bans on a separate Redis.
#include <algorithm>
#include <atomic>
#include <thread>

#include "support/stopped_worker.h"
#include "support/two_redis.h"

using namespace petstore::e2e;

namespace {

constexpr char kPet[] = "{\"name\":\"n\",\"categoryId\":1}";

using Names = std::vector<std::string>;

// The commands that one request costs each Redis.
struct Cost {
    Names limits;
    Names main;

    bool operator==(const Cost& other) const
    {
        return limits == other.limits && main == other.main;
    }
};

std::ostream& operator<<(std::ostream& out, const Cost& cost)
{
    out << "limits:";
    for (const auto& name : cost.limits) {
        out << ' ' << name;
    }
    out << " main:";
    for (const auto& name : cost.main) {
        out << ' ' << name;
    }
    return out;
}

class Monitors {
public:
    explicit Monitors(const TwoRedis& redis)
        : limits_(redis.limits), main_(redis.main)
    {}

    Cost of(const std::function<void()>& requests)
    {
        limits_.names();
        main_.names();
        requests();
        return {limits_.names(), main_.names()};
    }

private:
    Monitor limits_;
    Monitor main_;
};

// Loads the scripts and makes the worker cache the key.
void warm_up(TwoRedisStore& store)
{
    for (int i = 0; i < 2; ++i) {
        CHECK(store.http.get("/v1/pets").status == 200);
        CHECK(store.http.get("/v1/pets?status=sold").status == 200);
        CHECK(store.http.post("/v1/pets", kPet).status == 201);
        CHECK(store.http.get("/shop/").status == 200);
    }
}

std::vector<std::unique_ptr<NginxServer>> hosts_of(const TwoRedis& redis,
                                                   NginxOptions options = {})
{
    const auto full = redis.with(host_options(std::move(options)));
    std::vector<std::unique_ptr<NginxServer>> hosts;
    for (int i = 0; i < 2; ++i) {
        hosts.push_back(std::make_unique<NginxServer>(full));
    }
    return hosts;
}

Storm storm_of(const std::vector<std::unique_ptr<NginxServer>>& hosts,
               const Key& key)
{
    Storm storm;
    for (const auto& host : hosts) {
        storm.ports.push_back(host->tls_port());
    }
    storm.request = list_request(key.secret);
    return storm;
}

// The number of account keys in Redis.
std::size_t account_keys(const RedisServer& redis)
{
    return redis.command({"KEYS", "petstore:{????????????????}:*"})
        .items.size();
}

}  // namespace

TEST_CASE("two redis: commands of each operation on each")
{
    TwoRedisStore store;
    import_pets(store.redis.main, 900);
    warm_up(store);
    auto& http = store.http;
    Monitors monitors(store.redis);
    const Names limiter{"EVALSHA"};
    const auto get = [&](const std::string& path) {
        return monitors.of([&] { http.get(path); });
    };
    CHECK(get("/v1/pets/700") == Cost{limiter, {"MGET", "LINDEX"}});
    CHECK(get("/v1/pets/700") == Cost{limiter, {"MGET"}});
    // Its bucket has been in memory since the first reads.
    CHECK(get("/v1/pets?limit=33") == Cost{limiter, {"MGET"}});
    CHECK(get("/v1/pets?limit=100&status=pending")
          == Cost{limiter, {"MGET", "EVALSHA"}});
    CHECK(monitors.of([&] { http.head("/v1/pets/700"); })
          == Cost{limiter, {"MGET"}});
    CHECK(monitors.of([&] { http.post("/v1/pets", kPet); })
          == Cost{limiter, {"EVALSHA"}});
    // Requests that need no version do not read it.
    CHECK(get("/shop/") == Cost{limiter, {}});
    CHECK(get("/v1/nowhere") == Cost{limiter, {}});
    CHECK(get("/v1/pets/abc") == Cost{limiter, {}});
    CHECK(get("/v1/pets?limit=0") == Cost{limiter, {}});
    CHECK(monitors.of([&] { http.request("DELETE", "/v1/pets"); })
          == Cost{limiter, {}});
    CHECK(monitors.of([&] { http.post("/v1/pets", "nonsense"); })
          == Cost{limiter, {}});
    CHECK(monitors.of([&] { http.request("OPTIONS", "/v1/pets"); }) == Cost{});
    CHECK(monitors.of([&] { Http(store.nginx.url()).get("/v1/pets"); })
          == Cost{});
    CHECK(monitors.of([&] {
        Http(store.nginx.url(), "unknown").get("/v1/pets");
    }) == Cost{{}, {"HGETALL"}});

    // The first request with a key reads its record and its account's.
    Http other(store.nginx.url(), store.redis.limited_key(2).secret);
    CHECK(monitors.of([&] { other.get("/v1/pets/700"); })
          == Cost{limiter, {"HGETALL", "HGETALL", "MGET"}});
    other.get("/v1/pets/700");
    // Denied by Redis, then from memory.
    CHECK(monitors.of([&] { CHECK(other.get("/v1/pets/700").status == 429); })
          == Cost{limiter, {"MGET"}});
    CHECK(monitors.of([&] { CHECK(other.get("/v1/pets/700").status == 429); })
              .main.empty());
}

TEST_CASE("two redis: simultaneous requests share both commands")
{
    constexpr std::size_t kClients = 64;
    TwoRedisStore store;
    import_pets(store.redis.main, 10);
    warm_up(store);
    const auto sockets = store.nginx.sockets();
    std::vector<RawClient> clients;
    for (std::size_t i = 0; i < kClients; ++i) {
        clients.emplace_back(store.nginx.port());
    }
    REQUIRE(wait_until(
        [&] { return store.nginx.sockets() >= sockets + kClients; }));
    Monitors monitors(store.redis);
    const auto cost = monitors.of([&] {
        {
            const StoppedWorker stopped(store.nginx);
            for (auto& client : clients) {
                client.send("GET /v1/pets/1 HTTP/1.1\r\nHost: a\r\n"
                            "Authorization: Bearer "
                            + store.key.secret + "\r\n\r\n");
            }
        }
        for (auto& client : clients) {
            CHECK(client.read().status == 200);
        }
    });
    CHECK(cost.limits.size() <= 4);
    CHECK(std::count(cost.main.begin(), cost.main.end(), "MGET") <= 4);
}

TEST_CASE("two redis: limits are exact over two hosts with two workers each")
{
    TwoRedis redis;
    const auto hosts = hosts_of(redis);
    import_pets(redis.main, 10);
    for (const long long limit : {60, 1000}) {
        const auto key = redis.limited_key(limit);
        auto storm = storm_of(hosts, key);
        check_exact(storm.run(static_cast<std::size_t>(2 * limit)), limit);
        CHECK(used(redis.limits, key, "minute") == limit);
        CHECK(used(redis.limits, key, "day") == limit);
    }
    CHECK(account_keys(redis.main) == 0);
    CHECK(redis.limits.command({"KEYS", "*:pets}:*"}).items.empty());
    CHECK(redis.limits.command({"KEYS", "petstore:key*"}).items.empty());
}

TEST_CASE("two redis: bans hold on every host and end by petstorectl")
{
    TwoRedis redis;
    NginxOptions options;
    options.location = "petstore_ban threshold=5;";
    const auto hosts = hosts_of(redis, options);
    const auto key = redis.limited_key(3);
    auto storm = storm_of(hosts, key);
    int banned = 0;
    storm.run_until([&](const Answer& answer) {
        banned += answer.code == "api_key_banned";
        return banned >= 100;
    });
    CHECK(used(redis.limits, key, "bans") == 1);
    CHECK(account_keys(redis.main) == 0);
    const auto usage = redis.ctl({"key", "usage", key.id, "--json"});
    REQUIRE(usage.code == 0);
    CHECK_FALSE(nlohmann::json::parse(usage.out).at("banned_until").is_null());

    CHECK(contains(redis.ctl({"key", "unban", key.id}).err, "is lifted"));
    const auto deadline = Clock::now() + 1s;
    for (const auto& host : hosts) {
        Http http(host->url(), key.secret);
        CHECK(kept_by(deadline, [&] {
            return code_of(http.get("/v1/pets")) != "api_key_banned";
        }));
    }
}

TEST_CASE("two redis: a guard works while the main Redis is away")
{
    TwoRedisStore store;
    import_pets(store.redis.main, 5);
    warm_up(store);
    const auto before = used(store.redis.limits, store.key, "minute");
    store.redis.main.kill_hard();
    for (int i = 0; i < 3; ++i) {
        CHECK(store.http.get("/shop/").status == 200);
        // Charged, like every request that the limiter admits.
        expect_error(store.http.get("/v1/pets"), 503, "service_unavailable");
        expect_error(store.http.get("/v1/pets/1"), 503, "service_unavailable");
        expect_error(store.http.post("/v1/pets", kPet), 503,
                     "service_unavailable");
        CHECK(store.http.get("/v1/nowhere").status == 404);
    }
    CHECK(used(store.redis.limits, store.key, "minute") == before + 15);
    const auto rate = rate_headers_of(store.http.get("/v1/pets"));
    CHECK(rate.limit - rate.remaining == before + 16);

    store.redis.main.start();
    REQUIRE(
        wait_until([&] { return store.http.get("/v1/pets").status == 200; }));
    CHECK(store.http.get("/v1/pets").json().size() == 7);
}

TEST_CASE("two redis: a stopped main Redis delays reads only")
{
    NginxOptions options;
    options.server = "petstore_redis_timeout 2s;";
    TwoRedisStore store(options);
    import_pets(store.redis.main, 5);
    warm_up(store);
    Http limited(store.nginx.url(), store.redis.limited_key(1).secret);
    CHECK(limited.get("/v1/pets").status == 200);
    store.redis.main.pause();
    CHECK(store.http.get("/shop/").status == 200);
    expect_error(limited.get("/v1/pets"), 429, "rate_limit_exceeded");
    expect_error(store.http.get("/v1/pets"), 503, "service_unavailable");
    CHECK(store.http.get("/shop/").status == 200);
    store.redis.main.resume();
    REQUIRE(
        wait_until([&] { return store.http.get("/v1/pets").status == 200; }));
}

TEST_CASE("two redis: without the limit Redis no request is served")
{
    TwoRedisStore store;
    import_pets(store.redis.main, 5);
    warm_up(store);
    store.redis.limits.kill_hard();
    // The first request may detect the outage only after it was charged.
    for (int i = 0; i < 2; ++i) {
        expect_error(store.http.get("/v1/pets"), 503, "service_unavailable");
    }
    Monitor monitor(store.redis.main);
    monitor.names();
    for (int i = 0; i < 3; ++i) {
        expect_error(store.http.get("/v1/pets/3"), 503, "service_unavailable");
        expect_error(store.http.get("/shop/"), 503, "service_unavailable");
    }
    CHECK(monitor.names().empty());
    store.redis.limits.start();
    REQUIRE(
        wait_until([&] { return store.http.get("/v1/pets").status == 200; }));
}

TEST_CASE("two redis: a stopped limit Redis counts as away after the timeout")
{
    NginxOptions options;
    options.server = "petstore_redis_timeout 2s;";
    TwoRedisStore store(options);
    warm_up(store);
    store.redis.limits.pause();
    expect_error(store.http.get("/v1/pets"), 503, "service_unavailable");
    expect_error(store.http.get("/shop/"), 503, "service_unavailable");
    store.redis.limits.resume();
    REQUIRE(wait_until([&] { return store.http.get("/shop/").status == 200; }));
}

TEST_CASE("two redis: a read after a 201 never misses the pet")
{
    TwoRedis redis;
    const auto key = redis.create_key();
    import_pets(redis.main, 300);
    NginxOptions options;
    options.workers = 2;
    NginxServer writer(redis.with(options));
    NginxServer reader(redis.with(options));
    std::atomic<long long> acknowledged{300};
    std::atomic<bool> done{false};
    std::atomic<int> missed{0};
    std::atomic<int> reads{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            Http http(i % 2 ? reader.url() : writer.url(), key.secret);
            for (int n = i; !done; ++n) {
                const long long known = acknowledged;
                bool there = false;
                if (n % 2 == 0) {
                    const auto path = "/v1/pets/" + std::to_string(known);
                    there = http.get(path).status == 200;
                } else {
                    const auto rows = walk(http, "/v1/pets?limit=100");
                    there = static_cast<long long>(rows.size()) >= known;
                }
                missed += !there;
                ++reads;
            }
        });
    }
    Http http(writer.url(), key.secret);
    for (int i = 0; i < 200; ++i) {
        const auto created = http.post("/v1/pets", kPet);
        REQUIRE(created.status == 201);
        acknowledged = created.json().at("id").get<long long>();
    }
    REQUIRE(wait_until([&] { return reads > 200; }));
    done = true;
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(missed == 0);
}

TEST_CASE("two redis: a change of a key takes effect with the next request")
{
    TwoRedis redis;
    const auto key = redis.create_key();
    const auto hosts = hosts_of(redis);
    std::vector<Http> clients;
    for (const auto& host : hosts) {
        for (int i = 0; i < 4; ++i) {  // most likely both workers
            clients.emplace_back(host->url(), key.secret);
            CHECK(clients.back().get("/v1/pets").status == 200);
        }
    }
    REQUIRE(redis.ctl({"key", "disable", key.id}).code == 0);
    for (auto& client : clients) {
        CHECK(client.get("/v1/pets").status == 401);
    }
    REQUIRE(redis.ctl({"key", "enable", key.id}).code == 0);
    for (auto& client : clients) {
        CHECK(wait_until([&] { return client.get("/v1/pets").status == 200; }));
    }
    // The record is written, but the account is unreachable.
    redis.limits.kill_hard();
    const auto failed = redis.ctl({"key", "disable", key.id});
    CHECK(failed.code == 4);
    redis.limits.start();
    REQUIRE(redis.ctl({"key", "disable", key.id}).code == 0);
    for (auto& client : clients) {
        CHECK(client.get("/v1/pets").status == 401);
    }
}

TEST_CASE(
    "two redis: an epoch that is lost after the record was written is reported")
{
    TwoRedis redis;
    const auto key = redis.create_key();
    redis.limits.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
    const auto failed = redis.ctl({"key", "disable", key.id});
    CHECK(failed.code == 1);
    CHECK(contains(failed.err, "not yet in effect, run again"));
    redis.limits.command({"CONFIG", "SET", "min-replicas-to-write", "0"});
    CHECK(redis.ctl({"key", "disable", key.id}).code == 0);
}

TEST_CASE(
    "two redis: a limit Redis that loses its latest writes revives no key")
{
    TwoRedisStore store({}, {"appendonly no"});
    warm_up(store);
    auto& limits = store.redis.limits;
    SECTION("back to a snapshot in which the account has its old epoch")
    {
        limits.command({"SAVE"});
        REQUIRE(store.redis.ctl({"key", "disable", store.key.id}).code == 0);
        limits.kill_hard();
        limits.start();
        REQUIRE(used(limits, store.key, "minute") > 0);
    }
    SECTION("empty")
    {
        REQUIRE(store.redis.ctl({"key", "disable", store.key.id}).code == 0);
        limits.command({"FLUSHALL"});
    }
    REQUIRE(wait_until([&] {
        const auto status = store.http.get("/shop/").status;
        CHECK(status != 200);
        return status == 401;
    }));
}

TEST_CASE("two redis: an empty limit Redis starts new windows")
{
    TwoRedisStore store;
    warm_up(store);
    store.redis.limits.command({"FLUSHALL"});
    Monitors monitors(store.redis);
    // The state may be lost, and an epoch with it: the records are read again.
    const auto cost =
        monitors.of([&] { CHECK(store.http.get("/shop/").status == 200); });
    CHECK(cost == Cost{{"EVALSHA", "EVALSHA"}, {"HGETALL", "HGETALL"}});
    CHECK(used(store.redis.limits, store.key, "minute") == 1);
    CHECK(monitors.of([&] { store.http.get("/shop/"); })
          == Cost{{"EVALSHA"}, {}});
}

TEST_CASE("two redis: the same Redis twice counts as one")
{
    RedisServer redis;
    const auto key = create_key(redis);
    NginxOptions options;
    options.redis = redis.url();
    options.http = "petstore_limit_redis " + redis.url() + ";";
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    CHECK(http.post("/v1/pets", kPet).status == 201);
    CHECK(http.get("/v1/pets").status == 200);
    // The worker's connection and this one; petstorectl's may take a moment to
    // close.
    CHECK(wait_until([&] { return redis.info("connected_clients") == 2; }));
    Monitor monitor(redis);
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(monitor.names() == Names{"EVALSHA"});
}

TEST_CASE("two redis: each location may have its own")
{
    TwoRedis redis;
    const auto key = redis.create_key();
    NginxOptions options = redis.with();
    // The same Redis for everything, named explicitly.
    options.servers = "server { listen %ADDRESS%:%TLS_PORT%; petstore_redis "
                      + redis.limits.url() + "; location /v1/ { petstore; } }";
    NginxServer nginx(options);
    const auto other = create_key(redis.limits);
    import_pets(redis.limits, 3);
    CHECK(Http(nginx.url(), key.secret).get("/v1/pets").status == 200);
    CHECK(Http(nginx.url(), other.secret).get("/v1/pets").status == 401);
    Http one(http_url(nginx.tls_port()), other.secret);
    CHECK(one.get("/v1/pets").status == 200);
    Monitor monitor(redis.limits);
    CHECK(one.get("/v1/pets").status == 200);
    CHECK(monitor.names() == Names{"EVALSHA"});
}

TEST_CASE("two redis: what nginx -t says of the directive")
{
    const auto check = [](const std::string& directives) {
        NginxOptions options;
        options.redis = "unix:/main";
        options.http = directives;
        return NginxServer::check(options).err;
    };
    CHECK(contains(
        check("petstore_limit_redis unix:/a;petstore_limit_redis unix:/b;"),
        "\"petstore_limit_redis\" directive is duplicate"));
    CHECK(contains(check("petstore_limit_redis http://a;"),
                   "in \"petstore_limit_redis\" directive"));
    CHECK(contains(check("petstore_limit_redis redis://no-such-host.invalid;"),
                   "nginx.conf:"));
    CHECK(contains(check("petstore_limit_redis unix:/a unix:/b;"),
                   "\"petstore_limit_redis\" directive takes one URL"));
}
