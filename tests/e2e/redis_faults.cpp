// The service while Redis is down, slow or misbehaving.
#include <hiredis/hiredis.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "support/limits.h"
#include "support/store.h"

using namespace petstore::e2e;

namespace {

const char* const kPet = "{\"name\":\"Rex\",\"categoryId\":7}";

void expect_unavailable(const Response& response)
{
    expect_error(response, 503, "service_unavailable");
    CHECK(std::atoi(response.header("retry-after").c_str()) >= 1);
}

bool recovers(Http& http, std::chrono::milliseconds within = 60s)
{
    return wait_until([&] { return http.get("/v1/pets").status == 200; },
                      within);
}

// Each worker detects by itself that Redis is back.
bool all_recover(const Store& store)
{
    return wait_until([&] {
        for (int i = 0; i < 20; ++i) {
            if (store.client().get("/v1/pets").status != 200) {
                return false;
            }
        }
        return true;
    });
}

// nginx releases a client's socket once it notices that the client has closed.
bool settles_at(const NginxServer& nginx, std::size_t sockets)
{
    return wait_until([&] { return nginx.sockets() <= sockets; });
}

void check_two_outages(RedisServer& redis, const std::string& url)
{
    const auto key = create_key(redis);
    NginxOptions options;
    // One of them publishes the host every few seconds, the other is idle.
    options.workers = 2;
    options.redis = url;
    const NginxServer nginx(options);
    for (std::size_t outage = 1; outage <= 2; ++outage) {
        redis.stop();
        CHECK(wait_until([&] {
            expect_unavailable(Http(nginx.url(), key.secret).get("/v1/pets"));
            return count_of(nginx.error_log(), "[error]") == 2 * outage;
        }));
        redis.start();
        // Within 30 seconds.
        CHECK(wait_until([&] {
            return count_of(nginx.error_log(), " is back after ") == 2 * outage;
        }));
        CHECK(count_of(nginx.error_log(), "[error]") == 2 * outage);
    }
}

}  // namespace

TEST_CASE("faults: two outages without a command in between are logged as two")
{
    RedisServer redis;
    check_two_outages(redis, redis.url());
}

TEST_CASE("faults: two outages over TCP are logged as two")
{
    RedisServer redis;
    check_two_outages(redis, redis.tcp_url());
}

TEST_CASE("faults: nginx starts without Redis and recovers")
{
    RedisServer redis;
    const auto key = create_key(redis);
    redis.stop();

    NginxOptions options;
    SECTION("unix socket")
    {
        options.redis = redis.url();
    }
    SECTION("TCP")
    {
        options.redis = redis.tcp_url();
    }
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    for (int i = 0; i < 10; ++i) {
        expect_unavailable(http.get("/v1/pets"));
        expect_unavailable(http.get("/v1/pets/1"));
        expect_unavailable(http.post("/v1/pets", kPet));
    }
    // Requests that need no Redis still work.
    expect_error(Http(nginx.url()).get("/v1/pets"), 401, "missing_api_key");
    CHECK(http.request("OPTIONS", "/v1/pets").status == 204);

    redis.start();
    CHECK(recovers(http));
    CHECK(http.post("/v1/pets", kPet).header("location") == "/v1/pets/1");
}

TEST_CASE("faults: a 503 has the last rate of its key, not of the account")
{
    Store store;
    const auto other =
        create_key(store.redis, {"--account", store.key.account, "--per-minute",
                                 "5", "--per-day", "9"});
    const auto shown = [&](const std::string& secret) {
        return rate_headers_of(Http(store.nginx.url(), secret).get("/v1/pets"));
    };
    const auto first = shown(store.key.secret);
    const auto second = shown(other.secret);
    CHECK(first.limit > second.limit);
    CHECK(second.limit == 5);
    store.redis.stop();
    CHECK(shown(store.key.secret).limit == first.limit);
    CHECK(shown(store.key.secret).remaining == first.remaining);
    CHECK(shown(other.secret).remaining == second.remaining);
}

TEST_CASE("faults: an outage is answered at once and logged once")
{
    NginxOptions options;
    options.location = "petstore_redis_timeout 500ms;";
    Store store(options);
    REQUIRE(recovers(store.http));
    store.redis.stop();
    expect_unavailable(store.http.get("/v1/pets"));
    // Within 5 ms, or five times as long as a request that needs no Redis. The
    // median, because the machine may stall.
    const auto time_of = [&](const char* method, int status) {
        std::vector<Clock::duration> times(200);
        for (auto& time : times) {
            const auto start = Clock::now();
            CHECK(store.http.request(method, "/v1/pets").status == status);
            time = Clock::now() - start;
        }
        const auto median = times.begin() + 100;
        std::nth_element(times.begin(), median, times.end());
        return *median;
    };
    const auto without_redis = time_of("OPTIONS", 204);
    const auto refused = time_of("GET", 503);
    CHECK(refused < std::max<Clock::duration>(5ms, 5 * without_redis));
    store.redis.start();
    CHECK(recovers(store.http));

    std::size_t lines = 0;
    for (const auto& line : split(store.nginx.error_log(), '\n')) {
        lines += contains(line, "[error]") || contains(line, "[crit]")
                 || contains(line, "[warn]");
    }
    CHECK(lines <= 5);
}

TEST_CASE(
    "faults: Redis killed under load loses no pet that was answered with 201")
{
    NginxOptions options;
    options.workers = 2;
    Store store(options);
    std::atomic<bool> stop{false};
    std::atomic<int> strange{0};
    constexpr int kThreads = 8;
    std::vector<std::vector<long long>> created(kThreads);
    std::atomic<int> total{0};
    std::atomic<int> refused{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            auto http = store.client();
            while (!stop) {
                const auto response = http.post("/v1/pets", kPet);
                if (response.status == 201) {
                    created[static_cast<std::size_t>(t)].push_back(
                        response.json().at("id"));
                    ++total;
                } else if (response.status == 503
                           && (contains(response.body, "\"outcome_unknown\"")
                               || contains(response.body,
                                           "\"service_unavailable\""))) {
                    ++refused;
                } else {
                    ++strange;
                }
            }
        });
    }
    for (int round = 0; round < 3; ++round) {
        const int before = total;
        CHECK(wait_until([&] { return total > before + 100; }));
        const int refusals = refused;
        store.redis.kill_hard();
        CHECK(wait_until([&] { return refused > refusals + 20; }));
        store.redis.start();
    }
    const int before = total;
    CHECK(wait_until([&] { return total > before + 100; }));
    stop = true;
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(strange == 0);

    std::set<long long> answered;
    std::size_t count = 0;
    for (const auto& ids : created) {
        answered.insert(ids.begin(), ids.end());
        count += ids.size();
    }
    CHECK(answered.size() == count);  // no id twice
    REQUIRE(all_recover(store));
    std::set<long long> stored;
    for (const auto& row : walk(store.http, "/v1/pets?limit=100")) {
        stored.insert(row.at("id").get<long long>());
    }
    for (const auto id : answered) {
        if (!stored.count(id)) {
            FAIL_CHECK("pet " << id << " was answered with 201 and is lost");
        }
    }
}

TEST_CASE("faults: a connection cut in mid-request")
{
    RedisServer redis;
    const auto key = create_key(redis);
    import_pets(redis, 3);
    FakeRedis fake(forward_to(redis));
    NginxOptions options;
    options.redis = fake.url();
    options.location =
        "petstore_redis_connect_timeout 10s; petstore_redis_timeout 10s;";
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/v1/pets/1").status == 200);

    for (const bool write : {false, true}) {
        fake.hold();
        const int commands = fake.commands();
        std::thread cutter([&] {
            wait_until([&] { return fake.commands() > commands; });
            fake.drop();
            fake.release();
        });
        const auto response =
            write ? http.post("/v1/pets", kPet) : http.get("/v1/pets/1");
        cutter.join();
        expect_unavailable(
            response);  // the limiter's call was cut, not the create
        CHECK(recovers(http));
    }
}

TEST_CASE(
    "faults: a create whose answer was lost says so and is never sent twice")
{
    RedisServer redis;
    const auto key = create_key(redis);
    std::atomic<int> creates{0};
    std::atomic<bool> lossy{false};
    auto forward = forward_to(redis);
    FakeRedis fake([&](const Words& command) {
        auto answer = forward(command);
        // The create is the script call that contains the record.
        for (const auto& word : command) {
            if (contains(word, "7:Rex")) {
                ++creates;
                if (lossy) {
                    answer.bytes.resize(answer.bytes.size() / 2);
                    answer.close = true;  // executed, but the reply is lost
                }
            }
        }
        return answer;
    });
    NginxOptions options;
    options.redis = fake.url();
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    REQUIRE(http.post("/v1/pets", kPet).status == 201);
    const int once = creates;

    lossy = true;
    const auto response = http.post("/v1/pets", kPet);
    expect_error(response, 503, "outcome_unknown");
    CHECK(creates == once + 1);
    lossy = false;
    CHECK(recovers(http));
    CHECK(http.get("/v1/pets").json().size() == 2);

    // With an Idempotency-Key the client may repeat the request and gets the
    // same pet.
    lossy = true;
    const Headers same = {{"Idempotency-Key", "again"}};
    expect_error(http.post("/v1/pets", kPet, same), 503, "outcome_unknown");
    lossy = false;
    CHECK(recovers(http));
    const auto again = http.post("/v1/pets", kPet, same);
    CHECK(again.status == 201);
    CHECK(again.header("idempotent-replayed") == "true");
    CHECK(http.get("/v1/pets").json().size() == 3);
}

TEST_CASE("faults: a stopped Redis costs one timeout and recovers when resumed")
{
    NginxOptions options;
    SECTION("one worker")
    {
        options.workers = 1;
    }
    SECTION("two workers")
    {
        options.workers = 2;
    }
    options.location = "petstore_redis_timeout 300ms;";
    Store store(options);
    import_pets(store.redis, 50);
    REQUIRE(
        wait_until([&] { return store.http.get("/v1/pets/1").status == 200; }));

    store.redis.pause();
    for (int round = 0; round < 3; ++round) {
        const auto start = Clock::now();
        const auto response = store.http.get("/v1/pets/1");
        CHECK(Clock::now() - start < 10s);
        expect_unavailable(response);
    }
    std::vector<std::thread> threads;
    std::atomic<int> unexpected{0};
    for (int t = 0; t < 16; ++t) {
        threads.emplace_back([&] {
            auto http = store.client();
            for (int i = 0; i < 5; ++i) {
                unexpected += http.get("/v1/pets/2").status != 503;
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(unexpected == 0);

    // Now Redis sends all its late replies. None may reach a request made from
    // now on.
    store.redis.resume();
    bool healed = false;
    const auto deadline = Clock::now() + 60s;
    while (!healed && Clock::now() < deadline) {
        for (int id = 1; id <= 50; ++id) {
            const auto response =
                store.http.get("/v1/pets/" + std::to_string(id));
            if (response.status == 200) {
                healed = true;
                CHECK(response.json().at("id") == id);
            } else {
                CHECK(response.status == 503);
            }
        }
    }
    CHECK(healed);
}

TEST_CASE("faults: commands on a new connection have their own timeout")
{
    NginxOptions options;
    options.location =
        "petstore_redis_timeout 300ms; petstore_redis_connect_timeout 30s;";
    Store store(options);
    REQUIRE(recovers(store.http));
    store.redis.pause();
    const auto start = Clock::now();
    expect_unavailable(store.http.get("/v1/pets"));
    CHECK(Clock::now() - start < 10s);
    store.redis.resume();
    CHECK(recovers(store.http));
}

TEST_CASE("faults: a late reply never answers another request")
{
    RedisServer redis;
    const auto key = create_key(redis);
    import_pets(redis, 200);
    FakeRedis fake(forward_to(redis));
    NginxOptions options;
    options.redis = fake.url();
    options.location =
        "petstore_redis_connect_timeout 10s; petstore_redis_timeout 20s;";
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/v1/pets/1").status == 200);
    const auto sockets = nginx.sockets();

    // Clients send requests and leave while Redis is silent; others send
    // requests after them over the same Redis connection. The replies to the
    // former must be discarded.
    fake.hold();
    const auto request = [&](int id) {
        return "GET /v1/pets/" + std::to_string(id)
               + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + key.secret
               + "\r\n\r\n";
    };
    std::vector<RawClient> leaving;
    for (int id = 1; id <= 40; ++id) {
        leaving.emplace_back(nginx.port());
        leaving.back().send(request(id));
    }
    for (std::size_t i = 0; i < leaving.size(); ++i) {
        if (i % 2 == 0) {
            leaving[i].reset();
        } else {
            leaving[i].close();
        }
    }
    CHECK(settles_at(nginx, sockets));  // nginx has noticed
    std::vector<RawClient> staying;
    for (int id = 101; id <= 140; ++id) {
        staying.emplace_back(nginx.port());
        staying.back().send(request(id));
    }
    fake.release();
    for (int id = 101; id <= 140; ++id) {
        const auto response =
            staying[static_cast<std::size_t>(id - 101)].read();
        expect_json(response, 200,
                    pet_json(id, "pet " + std::to_string(id),
                             std::to_string(id) + "0",
                             response.json().value("status", "")));
    }
    CHECK(fake.connections() == 1);  // else the test would be void
}

TEST_CASE("faults: clients that leave while Redis is busy leave nothing behind")
{
    RedisServer redis;
    const auto key = create_key(redis);
    import_pets(redis, 30);
    FakeRedis fake(forward_to(redis));
    NginxOptions options;
    options.redis = fake.url();
    options.location =
        "petstore_redis_connect_timeout 10s; petstore_redis_timeout 20s;";
    options.workers = 2;
    NginxServer nginx(options);
    // Makes both workers connect.
    for (int i = 0; i < 32; ++i) {
        CHECK(Http(nginx.url(), key.secret).get("/v1/pets").status == 200);
    }
    const auto before = nginx.sockets_at_rest();

    for (int round = 0; round < 3; ++round) {
        fake.hold();
        std::vector<RawClient> clients;
        for (int i = 0; i < 60; ++i) {
            clients.emplace_back(nginx.port());
            const std::string body = kPet;
            clients.back().send(
                (i % 3 == 0 ? "GET /v1/pets HTTP/1.1\r\n"
                 : i % 3 == 1
                     ? "GET /v1/pets/1 HTTP/1.1\r\n"
                     : "POST /v1/pets HTTP/1.1\r\nContent-Length: 29\r\n")
                + std::string("Host: a\r\nAuthorization: Bearer ") + key.secret
                + "\r\n\r\n" + (i % 3 == 2 ? body : ""));
        }
        for (std::size_t i = 0; i < clients.size(); ++i) {
            if (i % 2) {
                clients[i].reset();
            } else {
                clients[i].close();
            }
        }
        fake.release();
        CHECK(settles_at(nginx, before));
    }
    CHECK(Http(nginx.url(), key.secret).get("/v1/pets").status == 200);
    CHECK(settles_at(nginx, before));
}

TEST_CASE("faults: a Redis that answers one byte at a time")
{
    RedisServer redis;
    const auto key = create_key(redis);
    import_pets(redis, 30);
    FakeRedis fake(forward_to(redis, true));
    NginxOptions options;
    options.redis = fake.url();
    options.location =
        "petstore_redis_timeout 20s; petstore_redis_connect_timeout 20s;";
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    const auto page = http.get("/v1/pets?limit=30");
    CHECK(page.status == 200);
    CHECK(page.json().size() == 30);
    CHECK(http.get("/v1/pets?limit=30&status=sold").json().size() == 10);
    expect_json(http.get("/v1/pets/7"), 200,
                pet_json(7, "pet 7", "70", "available"));
    expect_json(http.post("/v1/pets", kPet), 201,
                pet_json(31, "Rex", "7", "available"));
    expect_error(http.get("/v1/pets/32"), 404, "pet_not_found");
}

TEST_CASE("faults: a Redis that sends invalid replies")
{
    const std::vector<std::string> nonsense = {
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "\r\n",
        std::string(1, '\0'),
        "$99999999999\r\n",
        "$-2\r\n",
        "$5\r\nab\r\nxx",
        "*99999999\r\n",
        "*-5\r\n",
        ":12a\r\n",
        ":99999999999999999999999\r\n",
        repeat("*1\r\n", 100) + "+x\r\n",
        "*2\r\n+only one",
        "+OK\r\n+OK\r\n+OK\r\n+OK\r\n",
        "*0\r\n*0\r\n*0\r\n",
        "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n",  // odd length for a hash
        "*4\r\n$2\r\nid\r\n:1\r\n$7\r\naccount\r\n*0\r\n",
        "*4\r\n$2\r\nid\r\n$-1\r\n$7\r\naccount\r\n$-1\r\n",
        "$3\r\nabc\r\n",
        ":1\r\n",
        "+OK\r\n",
        "-ERR unknown command\r\n",
        "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n",
        "-LOADING Redis is loading the dataset in memory\r\n",
        "-READONLY You can't write against a read only replica.\r\n",
        "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
        "-MISCONF Redis is configured to save RDB snapshots\r\n",
        "-NOAUTH Authentication required.\r\n",
        "-NOPERM this user has no permissions\r\n",
        "-NOSCRIPT No matching script. Please use EVAL.\r\n",
        "-BUSY Redis is busy running a script.\r\n",
        "-CLUSTERDOWN The cluster is down\r\n",
        "-MOVED 3999 127.0.0.1:6381\r\n",
        "-ASK 3999 127.0.0.1:6381\r\n",
        "-MASTERDOWN Link with MASTER is down\r\n",
        "-NOREPLICAS Not enough good replicas to write.\r\n",
        "-\r\n",
        "-" + std::string(5000, 'x') + "\r\n",
        "$" + std::to_string(5 * 1024 * 1024) + "\r\n"
            + std::string(5 * 1024 * 1024, 'x') + "\r\n",
    };
    RedisServer redis;
    const auto key = create_key(redis);
    std::atomic<std::size_t> now{0};
    std::atomic<bool> honest{true};
    auto forward = forward_to(redis);
    FakeRedis fake([&](const Words& command) {
        if (honest) {
            return forward(command);
        }
        return FakeRedis::Answer{nonsense[now]};
    });
    NginxOptions options;
    options.redis = fake.url();
    options.location = "petstore_redis_timeout 200ms;";
    NginxServer nginx(options);
    Http known(nginx.url(), key.secret);
    REQUIRE(recovers(known));

    for (std::size_t i = 0; i < nonsense.size(); ++i) {
        INFO(nonsense[i].substr(0, 60));
        now = i;
        honest = false;
        // A cached key, and one that has to be looked up first.
        Http stranger(nginx.url(), "some-imported-key-" + std::to_string(i));
        for (auto* http : {&known, &stranger}) {
            for (int request = 0; request < 3; ++request) {
                const auto response = request == 0 ? http->get("/v1/pets/1")
                                      : request == 1
                                          ? http->get("/v1/pets?status=sold")
                                          : http->post("/v1/pets", kPet);
                // 503, or 500 if a reply can only mean damage. An empty reply
                // to a lookup means that there is no such key.
                const bool no_such_key =
                    http == &stranger && response.status == 401;
                CHECK((response.status == 503 || response.status == 500
                       || no_such_key));
                CHECK(response.json().is_object());
            }
        }
        honest = true;
        CHECK(recovers(known));
    }
}

TEST_CASE("faults: no server writes control characters into the log")
{
    RedisServer redis;
    const auto key = create_key(redis);
    auto forward = forward_to(redis);
    const auto log_after = [&](const std::string& error) {
        FakeRedis fake([&](const Words& command) {
            return command[0] == "EVALSHA" ? FakeRedis::Answer{error}
                                           : forward(command);
        });
        NginxOptions options;
        options.redis = fake.url();
        NginxServer nginx(options);
        CHECK(Http(nginx.url(), key.secret).get("/v1/pets").status == 503);
        return nginx.error_log();
    };
    const std::string shown = "answered with EV?[31m?fake?line";
    CHECK(contains(log_after("-EV\x1b[31m\vfake\tline x\r\n"), shown));
    const auto log = log_after("-EV\x1b[31m\nfake\tline x\r\n");
    CHECK(!contains(log, "\nfake"));
    // Later versions reject a line break.
    CHECK((HIREDIS_MAJOR > 0 || contains(log, shown)));
}

TEST_CASE("faults: a full queue is logged once a second at most")
{
    RedisServer redis;
    const auto key = create_key(redis);
    FakeRedis fake(forward_to(redis));
    NginxOptions options;
    options.redis = fake.url();
    options.location =
        "petstore_redis_connect_timeout 10s; petstore_redis_timeout 15m;";
    // The lookups of keys of each store are bounded, too.
    constexpr int kStores = 5;
    for (int i = 0; i < kStores; ++i) {
        const auto name = "store" + std::to_string(i);
        options.server += "location /" + name + "/v1/ { petstore /" + name
                          + "/v1; petstore_prefix " + name
                          + "; petstore_redis_timeout 15m; }";
    }
    NginxServer nginx(options);
    CHECK(Http(nginx.url(), key.secret).get("/v1/pets").status == 200);
    Http bystander(nginx.url());

    // Each request sends a command, since no other has its key. It stays queued
    // when its client has left.
    fake.hold();
    const auto start = Clock::now();
    int asked = 0;
    int refused = 0;
    while (refused < 300 && asked < 9000) {
        std::vector<RawClient> clients;
        for (int i = 0; i < 300; ++i, ++asked) {
            clients.emplace_back(nginx.port());
            clients.back().send(
                "GET /store" + std::to_string(asked % kStores)
                + "/v1/pets HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer unknown"
                + std::to_string(asked) + "\r\n\r\n");
        }
        // A response that needs no Redis shows that nginx has read everything
        // before it.
        CHECK(bystander.request("OPTIONS", "/v1/pets").status == 204);
        for (auto& client : clients) {
            refused += client.readable(0ms) && client.read().status == 503;
            client.reset();
        }
        CHECK(bystander.request("OPTIONS", "/v1/pets").status == 204);
    }
    INFO(asked << " asked");
    CHECK(refused >= 300);
    std::vector<std::string> lines;
    for (const auto& line : split(nginx.error_log(), '\n')) {
        if (contains(line, "queue full, ")) {
            lines.push_back(line);
        }
    }
    const auto seconds = static_cast<std::size_t>((Clock::now() - start) / 1s);
    CHECK(lines.size() >= 1);
    CHECK(lines.size() <= seconds + 1);
    fake.drop(true);
}

TEST_CASE("faults: a Redis that accepts and never answers")
{
    RedisServer redis;
    const auto key = create_key(redis);
    FakeRedis fake(forward_to(redis));
    fake.hold();
    NginxOptions options;
    options.redis = fake.url();
    options.location = "petstore_redis_timeout 100ms;";
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    expect_unavailable(http.get("/v1/pets"));
    expect_unavailable(http.post("/v1/pets", kPet));
    // Connections do not accumulate. (While it holds its replies, the fake
    // server does not notice that one was closed.)
    const auto sockets = nginx.sockets();
    for (int i = 0; i < 50; ++i) {
        CHECK(http.get("/v1/pets").status == 503);
    }
    CHECK(nginx.sockets() <= sockets + 1);
    fake.release();
    CHECK(recovers(http));
}

TEST_CASE("faults: scripts that Redis has forgotten are sent again")
{
    Store store;
    import_pets(store.redis, 5);
    for (int i = 0; i < 3; ++i) {
        CHECK(store.http.get("/v1/pets").status == 200);
        store.redis.command({"SCRIPT", "FLUSH"});
        CHECK(store.http.get("/v1/pets").status == 200);
        store.redis.command({"SCRIPT", "FLUSH"});
        CHECK(store.http.get("/v1/pets?status=sold").json().size() == 1);
        store.redis.command({"SCRIPT", "FLUSH"});
        CHECK(store.http.get("/v1/pets/1").status == 200);
        store.redis.command({"SCRIPT", "FLUSH"});
        CHECK(store.http.post("/v1/pets", "{\"name\":\"n\",\"categoryId\":1}")
                  .status
              == 201);
    }
}

TEST_CASE("faults: a revocation takes effect although Redis has lost its epoch")
{
    Store store;
    REQUIRE(store.http.get("/v1/pets").status == 200);
    // petstorectl writes the record first. A crash may keep no more than that.
    const auto digest =
        store.redis.command({"HGET", "petstore:keys", store.key.id}).text;
    store.redis.command({"HSET", "petstore:key:" + digest, "disabled", "1"});
    CHECK(store.http.get("/v1/pets").status == 200);
    store.redis.restart();
    CHECK(wait_until([&] { return store.http.get("/v1/pets").status != 503; }));
    expect_error(store.http.get("/v1/pets"), 401, "invalid_api_key");
}

TEST_CASE("faults: a full Redis refuses to create and still lists")
{
    Store store;
    import_pets(store.redis, 3);
    CHECK(store.http.post("/v1/pets", kPet).status == 201);
    store.redis.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
    store.redis.command({"CONFIG", "SET", "maxmemory", "1"});
    const auto response = store.http.post("/v1/pets", kPet);
    CHECK(response.status == 503);
    store.redis.command({"CONFIG", "SET", "maxmemory", "0"});
    CHECK(recovers(store.http));
    CHECK(store.http.get("/v1/pets").json().size() == 4);
}

TEST_CASE("faults: a pet is not created where another one belongs")
{
    Store store;
    import_pets(store.redis, 3);
    const std::string bucket = "petstore:{petstore:pets}:bucket:0";
    const auto third = store.redis.command({"LINDEX", bucket, "-1"}).text;
    store.redis.command({"RPOP", bucket});
    expect_error(store.http.post("/v1/pets", kPet), 500, "internal_error");
    CHECK(contains(store.nginx.error_log(),
                   "the Redis key " + bucket + " is damaged"));
    CHECK(store.redis.command({"LLEN", bucket}).integer == 2);

    store.redis.command({"RPUSH", bucket, third});
    CHECK(store.http.post("/v1/pets", kPet).header("location") == "/v1/pets/4");
    CHECK(store.http.get("/v1/pets").json().size() == 4);
}

TEST_CASE("faults: a Redis that closes every connection after one answer")
{
    RedisServer redis;
    const auto key = create_key(redis);
    import_pets(redis, 3);
    auto forward = forward_to(redis);
    FakeRedis fake([&](const Words& command) {
        auto answer = forward(command);
        answer.close = true;
        return answer;
    });
    NginxOptions options;
    options.redis = fake.url();
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    for (int i = 0; i < 30; ++i) {
        const auto response = http.get("/v1/pets/1");
        CHECK((response.status == 200 || response.status == 503));
        CHECK(response.json().is_object());
    }
}
