// Responses from memory are as fresh as Redis: after a 201, every worker of
// every host returns the pet.
#include <algorithm>
#include <atomic>
#include <thread>

#include "support/stopped_worker.h"
#include "support/two_hosts.h"

using namespace petstore::e2e;

namespace {

long long id_of(const Response& created)
{
    return created.json().value("id", 0LL);
}

}  // namespace

TEST_CASE("freshness: a read after a 201 never misses the pet")
{
    TwoHosts hosts;
    import_pets(hosts.redis, 500);

    std::atomic<long long> acknowledged{500};
    std::atomic<bool> done{false};
    std::atomic<int> missed{0};
    std::atomic<int> reads{0};

    auto read = [&](const std::string& url, unsigned seed) {
        Http http(url, hosts.key.secret);
        for (unsigned i = seed; !done; ++i) {
            const long long known = acknowledged;
            Response response;
            bool there = false;
            switch (i % 4) {
            case 0:
            case 1: {
                response = http.get("/v1/pets/" + std::to_string(known));
                there = response.status == 200 && id_of(response) == known;
                break;
            }
            case 2: {
                const auto rows = walk(http, "/v1/pets?limit=100");
                there =
                    static_cast<long long>(rows.size()) >= known
                    && rows[static_cast<std::size_t>(known) - 1]["id"] == known;
                break;
            }
            default: {
                const auto rows =
                    walk(http, "/v1/pets?status=pending&limit=100");
                for (const auto& row : rows) {
                    there = there || row["id"] == known;
                }
                // Pet 500 is not the writer's and may not be pending.
                there = there || known == 500;
                break;
            }
            }
            missed += !there;
            ++reads;
        }
    };
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 4; ++i) {
        threads.emplace_back(read, i % 2 ? hosts.two.url() : hosts.one.url(),
                             i);
    }

    Http http(hosts.one.url(), hosts.key.secret);
    for (int i = 0; i < 300; ++i) {
        const auto created = http.post(
            "/v1/pets",
            "{\"name\":\"new\",\"categoryId\":1,\"status\":\"pending\"}");
        REQUIRE(created.status == 201);
        acknowledged = id_of(created);
    }
    REQUIRE(wait_until([&] { return reads > 200; }));
    done = true;
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(missed == 0);
}

TEST_CASE("freshness: a changed status shows on the next read of any worker")
{
    TwoHosts hosts;
    import_pets(hosts.redis, 10);

    for (int round = 0; round < 10; ++round) {
        const std::string status = round % 2 ? "sold" : "pending";
        REQUIRE(ctl(hosts.redis.url(), {"pet", "set-status", "1", status}).code
                == 0);
        for (const auto& url : {hosts.one.url(), hosts.two.url()}) {
            for (int i = 0; i < 4; ++i) {  // new connections, so either worker
                Http http(url, hosts.key.secret);
                CHECK(http.get("/v1/pets/1").json()["status"] == status);
                CHECK(http.get("/v1/pets").json()[0]["status"] == status);
                CHECK(http.get("/v1/pets?limit=1&status=" + status)
                          .json()[0]["id"]
                      == 1);
            }
        }
    }
}

TEST_CASE("freshness: writes that a Redis restart has undone are forgotten")
{
    RedisServer redis({"save \"\"", "appendonly no"});
    const auto key = create_key(redis);
    NginxOptions options;
    options.redis = redis.url();
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    import_pets(redis, 3);
    CHECK(http.get("/v1/pets/3").status == 200);
    CHECK(http.get("/v1/pets").json().size() == 3);

    // The same key and number of pets, but other pets: they must not be served
    // from memory.
    redis.kill_hard();
    redis.start();
    import_key(redis, key.secret);
    for (int i = 0; i < 3; ++i) {
        REQUIRE(ctl(redis.url(), {"pet", "import", "-"},
                    "{\"name\":\"other\",\"categoryId\":5}\n")
                    .code
                == 0);
    }
    REQUIRE(wait_until([&] { return http.get("/v1/pets/3").status == 200; }));
    CHECK(http.get("/v1/pets/3").json()["name"] == "other");
    CHECK(http.get("/v1/pets").json()[2]["name"] == "other");
}

TEST_CASE("freshness: requests for one page share one read when it has changed")
{
    Store store;
    import_pets(store.redis, 5);
    CHECK(store.http.get("/v1/pets").status == 200);
    CHECK(
        store.http.post("/v1/pets", "{\"name\":\"n\",\"categoryId\":1}").status
        == 201);

    const auto sockets = store.nginx.sockets();
    std::vector<RawClient> clients;
    for (int i = 0; i < 64; ++i) {
        clients.emplace_back(store.nginx.port());
    }
    REQUIRE(wait_until([&] { return store.nginx.sockets() >= sockets + 64; }));
    Monitor monitor(store.redis);
    {
        const StoppedWorker stopped(store.nginx);
        for (auto& client : clients) {
            client.send(store.head("GET /v1/pets HTTP/1.1"));
        }
    }
    for (auto& client : clients) {
        CHECK(client.read().status == 200);
    }
    const auto names = monitor.names();
    CHECK(std::count(names.begin(), names.end(), "LRANGE") <= 4);
    CHECK(std::count(names.begin(), names.end(), "EVALSHA") <= 8);
}
