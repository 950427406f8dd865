// Bounds: a Redis that refuses writes, is silent, or sends endless replies
// delays no request beyond its timeout, and uses a fixed amount of worker
// memory.
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "support/limits.h"
#include "support/memory.h"

using namespace petstore::e2e;

namespace {

const char* const kPet = "{\"name\":\"Rex\",\"categoryId\":7}";

void set(const RedisServer& redis, const char* name, const char* value)
{
    REQUIRE(redis.command({"CONFIG", "SET", name, value}).text == "OK");
}

// Runs BGSAVE and waits for its end, successful or not.
void save(const RedisServer& redis)
{
    redis.command({"BGSAVE"});
    REQUIRE(
        wait_until([&] { return redis.info("rdb_bgsave_in_progress") == 0; }));
}

}  // namespace

TEST_CASE(
    "redis refusals: refused writes have no effect and work again without a restart")
{
    Store store;
    import_pets(store.redis, 3);
    const auto folder =
        store.redis.command({"CONFIG", "GET", "dir"}).items.at(1).text;
    std::string code;
    std::function<void()> harm;
    std::function<void()> mend;
    SECTION("maxmemory")
    {
        code = "OOM";
        harm = [&] { set(store.redis, "maxmemory", "1"); };
        mend = [&] { set(store.redis, "maxmemory", "0"); };
    }
    SECTION("snapshots fail")
    {
        code = "MISCONF";
        const auto file = folder + "/dump.rdb";
        harm = [&, file] {
            set(store.redis, "save", "3600 1");
            unlink(file.c_str());
            REQUIRE(mkdir(file.c_str(), 0777) == 0);
            save(store.redis);
        };
        mend = [&, file] {
            REQUIRE(rmdir(file.c_str()) == 0);
            save(store.redis);
        };
    }
    SECTION("too few replicas")
    {
        code = "NOREPLICAS";
        harm = [&] { set(store.redis, "min-replicas-to-write", "1"); };
        mend = [&] { set(store.redis, "min-replicas-to-write", "0"); };
    }
    CHECK(store.http.post("/v1/pets", kPet).status == 201);
    const auto state = account_key(store.key, "state");
    harm();
    const auto before = store.redis.command({"GET", state}).text;
    for (int i = 0; i < 5; ++i) {
        for (const auto& response :
             {store.http.get("/v1/pets"), store.http.get("/v1/pets/1"),
              store.http.post("/v1/pets", kPet)}) {
            expect_error(response, 503, "service_unavailable");
            CHECK(response.has("retry-after"));
        }
    }
    CHECK(store.redis.command({"GET", state}).text == before);
    CHECK(count_of(store.nginx.error_log(), "answered with " + code) >= 1);
    CHECK(count_of(store.nginx.error_log(), "timed out") == 0);

    mend();
    // The connection was kept: the next request is served.
    CHECK(store.http.get("/v1/pets").json().size() == 4);
    CHECK(store.http.post("/v1/pets", kPet).header("location") == "/v1/pets/5");
    CHECK(store.redis.command({"LLEN", "petstore:{petstore:pets}:bucket:0"})
              .integer
          == 5);
}

TEST_CASE("redis refusals: denied requests do not flood it")
{
    RedisServer redis;
    const auto key = limited_key(redis, 100, 1);
    NginxOptions options;
    options.redis = redis.url();
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    REQUIRE(http.get("/v1/pets").status == 200);
    set(redis, "min-replicas-to-write", "1");
    constexpr int kRequests = 1000;
    const auto calls = [&] { return command_counts(redis)["evalsha"]; };
    const auto before = calls();
    const auto start = Clock::now();
    for (int i = 0; i < kRequests; ++i) {
        REQUIRE(http.get("/v1/pets").status == 429);
    }
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start)
            .count();
    CHECK(calls() - before < 50 + 10 * seconds);
}

TEST_CASE(
    "redis refusals: no command waits longer than its timeout for a handshake")
{
    RedisServer redis;
    const auto key = create_key(redis);
    FakeRedis fake(forward_to(redis));
    fake.hold();
    NginxOptions options;
    options.redis = fake.url();
    options.location =
        "petstore_redis_connect_timeout 100s; petstore_redis_timeout 2s;";
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    http.set_timeout(50s);
    expect_error(http.get("/v1/pets"), 503, "service_unavailable");
    // The breaker is open during the attempt to connect: other requests do not
    // wait.
    std::vector<RawClient> clients;
    for (int i = 0; i < 50; ++i) {
        clients.emplace_back(nginx.port());
        clients.back().send(list_request(key.secret));
    }
    for (auto& client : clients) {
        expect_error(client.read(), 503, "service_unavailable");
    }
    CHECK(count_of(nginx.error_log(), "[error]") == 1);
    CHECK(count_of(nginx.error_log(), ": timed out") == 1);
    CHECK(fake.connections() == 1);

    fake.release();
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    CHECK(fake.connections() == 1);
    CHECK(count_of(nginx.error_log(), "is back") == 1);
    CHECK(count_of(nginx.error_log(), "[error]") == 1);
}

TEST_CASE("redis refusals: an open breaker answers without Redis")
{
    RedisServer redis;
    const auto key = create_key(redis);
    FakeRedis fake(forward_to(redis));
    NginxOptions options;
    options.redis = fake.url();
    options.http =
        "log_format time '$status $petstore_redis_time'; access_log time.log time;";
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    fake.drop(true);
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 503; }));
    const int commands = fake.commands();
    // In one write: a response that waited for anything would delay the rest.
    RawClient raw(nginx.port());
    std::string requests;
    for (int i = 0; i < 100; ++i) {
        requests += list_request(key.secret);
    }
    raw.send(requests);
    for (int i = 0; i < 100; ++i) {
        expect_error(raw.read(), 503, "service_unavailable");
    }
    CHECK(fake.commands() == commands);
    // The time spent on Redis is 0 by nginx's clock, which stands still during
    // an event-loop iteration.
    CHECK(wait_until([&] {
        return count_of(read_file(nginx.path("time.log")), "503 0.000\n")
               >= 100;
    }));
    fake.accept_again();
    CHECK(kept_by(Clock::now() + 3s,
                  [&] { return http.get("/v1/pets").status == 200; }));
}

TEST_CASE("redis refusals: requests that wait for a silent Redis are bounded")
{
    RedisServer redis;
    const auto key = create_key(redis);
    FakeRedis fake(forward_to(redis));
    NginxOptions options;
    options.redis = fake.url();
    options.location =
        "petstore_redis_connect_timeout 15m; petstore_redis_timeout 15m;";
    NginxServer nginx(options);
    CHECK(Http(nginx.url(), key.secret).get("/v1/pets").status == 200);
    const auto sockets = nginx.sockets_at_rest() + 1;
    Http bystander(nginx.url());
    CHECK(bystander.request("OPTIONS", "/v1/pets").status == 204);
    const auto worker = nginx.workers().at(0);
    const auto before = resident_memory(worker);

    // Clients send requests and leave. The worker reads them in one event-loop
    // iteration, so that many share one command.
    constexpr int kMost = 16'384;
    fake.hold();
    int asked = 0;
    int refused = 0;
    while (refused < 300 && asked < 2 * kMost) {
        std::vector<RawClient> clients;
        for (int i = 0; i < 400; ++i, ++asked) {
            clients.emplace_back(nginx.port());
        }
        REQUIRE(wait_until(
            [&] { return nginx.sockets() == sockets + clients.size(); }));
        kill(worker, SIGSTOP);
        for (auto& client : clients) {
            client.send(list_request(key.secret));
        }
        kill(worker, SIGCONT);
        CHECK(bystander.request("OPTIONS", "/v1/pets").status == 204);
        for (auto& client : clients) {
            refused += client.readable(0ms) && client.read().status == 503;
            client.reset();
        }
        // The next clients are counted once these are gone.
        REQUIRE(wait_until([&] { return nginx.sockets() == sockets; }));
    }
    const auto grown = (resident_memory(worker) - before) / 1024;
    INFO(asked << " asked, " << refused << " refused, " << grown << " KiB");
    CHECK(refused >= 300);
    CHECK(asked - refused <= kMost + 400);
    CHECK(count_of(nginx.error_log(), "requests refused: too many waiting")
          >= 1);
    CHECK(fake.commands() < 4096);
    if (!sanitized()) {
        CHECK(grown < 64 * 1024);
    }
    fake.drop(true);
}

TEST_CASE("redis refusals: replies made to use up memory close the connection")
{
    RedisServer redis;
    const auto key = create_key(redis);
    import_pets(redis, 3);
    const std::vector<std::string> hostile = {
        repeat("*1\r\n", 100'000) + "+x\r\n",
        "$4611686018427387904\r\n" + std::string(5 * 1024 * 1024, 'x'),
        "$9223372036854775807\r\n" + std::string(5 * 1024 * 1024, 'x'),
        "*4611686018427387904\r\n",
        "*2147483647\r\n",
        "%4611686018427387904\r\n",
        "~1000000000\r\n",
        ">2\r\n+invalidate\r\n*0\r\n",
        "=15\r\ntxt:Some string\r\n",
        "_\r\n",
        "#t\r\n",
        ",1.5\r\n",
        "(3492890328409238509324850943850943825024385\r\n",
        "$" + std::to_string(64 * 1024 * 1024) + "\r\n"
            + std::string(64 * 1024 * 1024, 'x'),
        std::string(16 * 1024 * 1024, '+'),
    };
    std::atomic<const std::string*> lie{nullptr};
    auto forward = forward_to(redis);
    FakeRedis fake([&](const Words& command) {
        const auto* const now = lie.load();
        return now != nullptr && command[0] != "PING" && command[0] != "INFO"
                   ? FakeRedis::Answer{*now}
                   : forward(command);
    });
    NginxOptions options;
    options.redis = fake.url();
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    const auto worker = nginx.workers().at(0);
    const auto before = resident_memory(worker);
    for (const auto& reply : hostile) {
        INFO(reply.substr(0, 40));
        const int connections = fake.connections();
        lie = &reply;
        expect_error(http.get("/v1/pets"), 503, "service_unavailable");
        lie = nullptr;
        REQUIRE(wait_until([&] { return http.get("/v1/pets").status == 200; }));
        CHECK(fake.connections() > connections);
    }
    CHECK(count_of(nginx.error_log(), ": protocol error") == hostile.size());
    CHECK(nginx.workers().at(0) == worker);
    if (!sanitized()) {
        CHECK(resident_memory(worker) - before < 16 * 1024 * 1024);
    }
}
