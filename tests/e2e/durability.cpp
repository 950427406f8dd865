// docs/operations.md, "Durability": what a 201 waits for with
// petstore_durability, and what happens without it.
#include <algorithm>
#include <csignal>
#include <future>
#include <mutex>
#include <set>

#include "support/limits.h"
#include "support/replicas.h"
#include "support/store.h"

using namespace petstore::e2e;

namespace {

const char* const kRex = "{\"name\":\"Rex\",\"categoryId\":7}";

NginxOptions durable_options(const std::string& redis,
                             const std::string& durability,
                             const std::string& timeout = "60s")
{
    NginxOptions options;
    options.redis = redis;
    options.location =
        "petstore_durability " + durability
        + "; petstore_redis_connect_timeout 10s; petstore_redis_timeout "
        + timeout + ";";
    return options;
}

struct Pair {
    RedisServer primary{kReplicated};
    RedisServer replica{kReplicated};
    Key key = create_key(primary);

    Pair() { follow(replica, primary); }

    // Prevents the replica from acknowledging anything during its lifetime.
    class Pause {
    public:
        explicit Pause(const RedisServer& redis) : redis_(redis)
        {
            redis_.pause();
        }
        ~Pause() { end(); }
        Pause(const Pause&) = delete;
        void end() const { redis_.resume(); }

    private:
        const RedisServer& redis_;
    };
};

std::future<Response> create_later(const NginxServer& nginx, const Key& key)
{
    return std::async(std::launch::async, [&] {
        Http http(nginx.url(), key.secret);
        return http.post("/v1/pets", kRex);
    });
}

bool is_waiting(const RedisServer& redis)
{
    return wait_until([&] { return redis.info("blocked_clients") == 1; });
}

bool ready(std::future<Response>& response)
{
    return response.wait_for(0s) == std::future_status::ready;
}

long long pets_in(const RedisServer& redis)
{
    return redis.command({"LLEN", "petstore:{petstore:pets}:bucket:0"}).integer;
}

}  // namespace

TEST_CASE("durability: a 201 is sent once the replica has the pet")
{
    Pair redis;
    NginxServer nginx(durable_options(redis.primary.url(), "replicas=1"));
    Http http(nginx.url(), redis.key.secret);
    const auto first = http.post("/v1/pets", kRex);
    expect_json(first, 201, pet_json(1, "Rex", "7", "available"));
    CHECK(pets_in(redis.replica) == 1);

    const Pair::Pause pause(redis.replica);
    auto second = create_later(nginx, redis.key);
    REQUIRE(is_waiting(redis.primary));
    CHECK(pets_in(redis.primary) == 2);
    // Other requests do not wait.
    CHECK(http.get("/v1/pets/2").status == 200);
    CHECK(http.get("/v1/pets").json().size() == 2);
    CHECK_FALSE(ready(second));
    pause.end();
    CHECK(second.get().header("location") == "/v1/pets/2");
    CHECK(pets_in(redis.replica) == 2);
}

TEST_CASE("durability: creates that wait together cost one WAIT")
{
    Pair redis;
    NginxServer nginx(durable_options(redis.primary.url(), "replicas=1"));
    Http http(nginx.url(), redis.key.secret);
    REQUIRE(http.post("/v1/pets", kRex).status == 201);

    constexpr int kMore = 30;
    const Pair::Pause pause(redis.replica);
    const auto before = command_counts(redis.primary)["wait"];
    auto remaining = rate_headers_of(http.get("/v1/pets/1")).remaining;
    auto first = create_later(nginx, redis.key);
    REQUIRE(is_waiting(redis.primary));
    std::vector<std::future<Response>> more;
    for (int i = 0; i < kMore; ++i) {
        more.push_back(create_later(nginx, redis.key));
    }
    // All have been admitted and wait for the first one.
    CHECK(wait_until([&] {
        --remaining;
        return rate_headers_of(http.get("/v1/pets/1")).remaining
               == remaining - 1 - kMore;
    }));
    CHECK(pets_in(redis.primary) == 2);
    pause.end();
    CHECK(first.get().status == 201);
    std::set<std::string> locations;
    for (auto& response : more) {
        locations.insert(response.get().header("location"));
    }
    CHECK(locations.size() == kMore);
    CHECK(locations.count("/v1/pets/3") == 1);
    CHECK(command_counts(redis.primary)["wait"] == before + 2);
    CHECK(pets_in(redis.replica) == 2 + kMore);
}

TEST_CASE("durability: a retry gets the pet that no replica confirmed")
{
    Pair redis;
    NginxServer nginx(durable_options(redis.primary.url(), "replicas=1", "1s"));
    Http http(nginx.url(), redis.key.secret);
    REQUIRE(
        wait_until([&] { return http.post("/v1/pets", kRex).status == 201; }));
    const auto pets = pets_in(redis.primary);
    const std::string location = "/v1/pets/" + std::to_string(pets + 1);
    const auto create = [&] {
        return http.post("/v1/pets", kRex, {{"Idempotency-Key", "k"}});
    };

    const Pair::Pause pause(redis.replica);
    expect_error(create(), 503, "outcome_unknown");
    CHECK(pets_in(redis.primary) == pets + 1);
    const auto name =
        redis.primary.command({"KEYS", "petstore:*:idempotency:*"})
            .items.at(0)
            .text;
    const auto end = redis.primary.command({"PEXPIRETIME", name}).integer;
    // A replayed response is not more durable than the first one.
    expect_error(create(), 503, "outcome_unknown");
    CHECK(contains(nginx.error_log(), "creates did not become durable"));
    pause.end();

    Response again;
    REQUIRE(wait_until([&] {
        again = create();
        return again.status == 201;
    }));
    CHECK(again.header("location") == location);
    CHECK(again.header("idempotent-replayed") == "true");
    CHECK(pets_in(redis.replica) == pets + 1);
    // The 24 hours count from the first request.
    CHECK(redis.primary.command({"PEXPIRETIME", name}).integer == end);
}

TEST_CASE("durability: without enough replicas a create is in doubt")
{
    RedisServer redis(kReplicated);
    const auto key = create_key(redis);
    auto options = durable_options(redis.url(), "replicas=1", "300ms");
    options.server = "location /n/v1/ { petstore /n/v1; }";
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    const auto becomes = [&](const std::string& code) {
        return wait_until([&] {
            return http.post("/v1/pets", kRex).json().value("code", "") == code;
        });
    };
    // Load the script first; its text would otherwise wait behind the first
    // WAIT.
    REQUIRE(wait_until(
        [&] { return http.post("/n/v1/pets", kRex).status == 201; }));
    CHECK(becomes("outcome_unknown"));
    CHECK(pets_in(redis) > 1);
    // Redis refuses before it writes.
    redis.command({"CONFIG", "SET", "min-replicas-to-write", "1"});
    CHECK(becomes("service_unavailable"));
    const auto pets = pets_in(redis);
    CHECK(becomes("service_unavailable"));
    CHECK(pets_in(redis) == pets);
}

TEST_CASE("durability: it can be set and switched off for each location")
{
    RedisServer redis(kReplicated);
    const auto key = create_key(redis);
    NginxOptions options;
    options.redis = redis.url();
    options.http = "petstore_durability replicas=1;";
    options.location =
        "petstore_durability off;"
        "petstore_redis_connect_timeout 10s; petstore_redis_timeout 10s;";
    options.server =
        "location /w/v1/ { petstore /w/v1; petstore_redis_timeout 300ms; }";
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    REQUIRE(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    // A Monitor, because Redis 8 counts a WAIT only when it ends.
    Monitor monitor(redis);
    const auto waits = [&] {
        const auto names = monitor.names();
        return std::count(names.begin(), names.end(), "WAIT");
    };
    CHECK(http.post("/v1/pets", kRex).status == 201);
    CHECK(waits() == 0);
    CHECK(wait_until([&] {
        return http.post("/w/v1/pets", kRex).json().value("code", "")
               == "outcome_unknown";
    }));
    CHECK(waits() > 0);
}

TEST_CASE("durability: a waiting create is answered in a reload and a shutdown")
{
    Pair redis;
    // A shutdown may take as long as the timeout.
    NginxServer nginx(
        durable_options(redis.primary.url(), "replicas=1", "40s"));
    Http http(nginx.url(), redis.key.secret);
    REQUIRE(http.post("/v1/pets", kRex).status == 201);
    const Pair::Pause pause(redis.replica);
    auto create = create_later(nginx, redis.key);
    REQUIRE(is_waiting(redis.primary));
    SECTION("reload")
    {
        nginx.reload();
        http.close();
        CHECK(http.get("/v1/pets/1").status == 200);
        CHECK_FALSE(ready(create));
        pause.end();
        CHECK(create.get().status == 201);
    }
    SECTION("shutdown")
    {
        kill(nginx.master(), SIGQUIT);
        CHECK(wait_until([&] {
            Http other(nginx.url(), redis.key.secret);
            other.tolerate_failures();
            return other.get("/v1/pets/1").status == 0;
        }));
        CHECK_FALSE(ready(create));
        pause.end();
        CHECK(create.get().status == 201);
        nginx.quit();
    }
    CHECK(pets_in(redis.replica) == 2);
}

TEST_CASE("durability: a Redis that is killed during a WAIT leaves doubt")
{
    Pair redis;
    NginxServer nginx(durable_options(redis.primary.url(), "replicas=1"));
    Http http(nginx.url(), redis.key.secret);
    REQUIRE(http.post("/v1/pets", kRex).status == 201);
    const Pair::Pause pause(redis.replica);
    auto create = create_later(nginx, redis.key);
    REQUIRE(is_waiting(redis.primary));
    auto next = http.get("/v1/pets/1");
    CHECK(next.status == 200);
    redis.primary.kill_hard();
    expect_error(create.get(), 503, "outcome_unknown");
}

TEST_CASE("durability: a denied create writes and waits for nothing")
{
    Pair redis;
    const auto key =
        create_key(redis.primary, {"--plan", "enterprise", "--per-minute", "1",
                                   "--per-day", "100"});
    NginxServer nginx(durable_options(redis.primary.url(), "replicas=1"));
    Http http(nginx.url(), key.secret);
    REQUIRE(http.post("/v1/pets", kRex).status == 201);
    const Pair::Pause pause(redis.replica);
    expect_error(http.post("/v1/pets", kRex), 429, "rate_limit_exceeded");
    CHECK(pets_in(redis.primary) == 1);
}

// --- support -----------------------------------------------------------------

TEST_CASE("durability: a user who may not WAIT creates nothing")
{
    Pair redis;
    redis.primary.command(
        {"ACL", "SETUSER", "worker", "on", ">pw", "~*", "+@all", "-wait"});
    const auto url = "redis://worker:pw@" + redis.primary.address();
    NginxServer nginx(durable_options(url, "replicas=1"));
    Http http(nginx.url(), redis.key.secret);
    for (int i = 0; i < 3; ++i) {
        expect_error(http.post("/v1/pets", kRex), 503, "service_unavailable");
    }
    CHECK(pets_in(redis.primary) == 0);
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(count_of(nginx.error_log(), "[error]") == 1);
    CHECK(contains(
        nginx.error_log(),
        " (creates) does not support petstore_durability, creates are refused: WAIT answered with NOPERM\n"));
    // Once WAIT is allowed, the next create succeeds.
    redis.primary.command({"ACL", "SETUSER", "worker", "+wait"});
    CHECK(http.post("/v1/pets", kRex).status == 201);
    CHECK(contains(nginx.error_log(), "supports petstore_durability again"));
    // WAIT is forbidden after the check and fails behind the create; later
    // creates are refused.
    redis.primary.command({"ACL", "SETUSER", "worker", "-wait"});
    expect_error(http.post("/v1/pets", kRex), 503, "outcome_unknown");
    expect_error(http.post("/v1/pets", kRex), 503, "service_unavailable");
    CHECK(pets_in(redis.primary) == 2);
    CHECK(count_of(nginx.error_log(), "[error]") == 2);
}

TEST_CASE("durability: fsync on a Redis with WAITAOF, and on one without")
{
    RedisServer redis({"appendfsync always"});
    const auto key = create_key(redis);
    NginxServer nginx(durable_options(redis.url(), "fsync"));
    Http http(nginx.url(), key.secret);
    const auto create = [&] { return http.post("/v1/pets", kRex); };
    const bool known =
        redis.command({"COMMAND", "INFO", "WAITAOF"}).items.at(0).type
        == Value::Type::array;
    if (!known) {
        for (int i = 0; i < 3; ++i) {
            expect_error(create(), 503, "service_unavailable");
        }
        CHECK(pets_in(redis) == 0);
        CHECK(http.get("/v1/pets").status == 200);
        CHECK(count_of(nginx.error_log(), "[error]") == 1);
        CHECK(contains(nginx.error_log(),
                       "WAITAOF answered with ERR (it needs Redis 7.2"));
        return;
    }
    CHECK(create().status == 201);
    const auto before = command_counts(redis)["waitaof"];
    CHECK(create().status == 201);
    CHECK(create().status == 201);
    CHECK(command_counts(redis)["waitaof"] == before + 2);
    redis.command({"CONFIG", "SET", "appendonly", "no"});
    expect_error(create(), 503, "outcome_unknown");
    for (int i = 0; i < 3; ++i) {
        expect_error(create(), 503, "service_unavailable");
    }
    CHECK(pets_in(redis) == 4);
    CHECK(count_of(nginx.error_log(), "[error]") == 1);
    CHECK(contains(nginx.error_log(),
                   "WAITAOF answered with ERR (it needs \"appendonly yes\")"));
    redis.command({"CONFIG", "SET", "appendonly", "yes"});
    CHECK(create().status == 201);
    CHECK(contains(nginx.error_log(), "supports petstore_durability again"));
}

namespace {

// Supports WAITAOF, whether or not the real Redis behind it does.
struct FakeDisk {
    RedisServer redis;
    Key key = create_key(redis);
    std::mutex mutex;
    std::string asked = "*2\r\n:1\r\n:0\r\n";   // before the first create
    std::string waited = "*2\r\n:1\r\n:0\r\n";  // after each batch
    std::vector<Words> waits;
    FakeRedis fake{[this, forward = forward_to(redis)](const Words& command) {
        if (command[0] != "WAITAOF") {
            return forward(command);
        }
        const std::lock_guard lock(mutex);
        waits.push_back(command);
        return FakeRedis::Answer{command[3] == "1" ? asked : waited};
    }};

    void set(const std::string& both)
    {
        const std::lock_guard lock(mutex);
        asked = waited = both;
    }
};

}  // namespace

TEST_CASE("durability: a 201 is sent once the disk has the pet")
{
    FakeDisk disk;
    NginxServer nginx(durable_options(disk.fake.url(), "fsync"));
    Http http(nginx.url(), disk.key.secret);
    const auto create = [&] { return http.post("/v1/pets", kRex); };
    CHECK(create().status == 201);
    {
        const std::lock_guard lock(disk.mutex);
        // One for the connection, one for NOSCRIPT, and one for the pet.
        REQUIRE(disk.waits.size() == 3);
        CHECK(disk.waits[0] == Words{"WAITAOF", "1", "0", "1"});
        for (int i = 1; i < 3; ++i) {
            const auto& wait = disk.waits.at(static_cast<std::size_t>(i));
            CHECK(wait[1] == "1");
            CHECK(wait[2] == "0");
            // The rest of 60 s.
            CHECK(std::stoi(wait[3]) > 1000);
            CHECK(std::stoi(wait[3]) <= 60000);
        }
        disk.waited = "*2\r\n:0\r\n:0\r\n";
    }
    expect_error(create(), 503, "outcome_unknown");
    CHECK(contains(nginx.error_log(), "1 creates did not become durable"));
    disk.set(
        "-ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.\r\n");
    expect_error(create(), 503, "outcome_unknown");
    CHECK(pets_in(disk.redis) == 3);
    for (int i = 0; i < 3; ++i) {
        expect_error(create(), 503, "service_unavailable");
    }
    CHECK(pets_in(disk.redis) == 3);
    CHECK(count_of(nginx.error_log(), "[error]") == 2);
    disk.set("*2\r\n:1\r\n:0\r\n");
    CHECK(create().header("location") == "/v1/pets/4");
    CHECK(contains(nginx.error_log(), "supports petstore_durability again"));
}

TEST_CASE("durability: nonsense in reply to WAITAOF confirms nothing")
{
    FakeDisk disk;
    NginxServer nginx(durable_options(disk.fake.url(), "fsync"));
    Http http(nginx.url(), disk.key.secret);
    for (const char* nonsense :
         {":1\r\n", "+OK\r\n", "$-1\r\n", "*0\r\n", "*1\r\n:1\r\n",
          "*2\r\n+1\r\n:0\r\n", "*2\r\n:-1\r\n:0\r\n", "-NONSENSE\r\n",
          "-LOADING\r\n", "nonsense\r\n"}) {
        INFO(nonsense);
        {
            const std::lock_guard lock(disk.mutex);
            disk.asked = "*2\r\n:1\r\n:0\r\n";
            disk.waited = nonsense;
        }
        Response response;
        REQUIRE(wait_until([&] {
            response = http.post("/v1/pets", kRex);
            return response.json().value("code", "") == "outcome_unknown";
        }));
        disk.set("*2\r\n:1\r\n:0\r\n");
        REQUIRE(wait_until(
            [&] { return http.post("/v1/pets", kRex).status == 201; }));
    }
}
