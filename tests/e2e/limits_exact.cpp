// SPEC 3: never one request more than the plan allows, and never one fewer.
#include <algorithm>
#include <atomic>
#include <ctime>
#include <memory>
#include <mutex>
#include <thread>

#include "support/store.h"

using namespace petstore::e2e;

namespace {

struct Tally {
    std::vector<long long> remaining;  // of the admitted
    int denied = 0;
    int unavailable = 0;
    int other = 0;
};

// Asks so many times over so many connections, spread over the hosts.
Tally storm(const std::vector<const NginxServer*>& hosts, const Key& key,
            int requests, int connections = 64)
{
    Tally tally;
    std::mutex mutex;
    std::atomic<int> left{requests};
    std::vector<std::thread> threads;
    for (int t = 0; t < connections; ++t) {
        const auto* host = hosts[static_cast<std::size_t>(t) % hosts.size()];
        threads.emplace_back([&, host] {
            Http http(host->url(), key.secret);
            http.tolerate_failures();
            while (left-- > 0) {
                const auto response = http.get("/v1/pets/1");
                const std::lock_guard lock(mutex);
                if (response.status == 200 || response.status == 404) {
                    tally.remaining.push_back(
                        std::atoll(response.header("x-ratelimit-remaining").c_str()));
                } else if (response.status == 429) {
                    ++tally.denied;
                } else if (response.status == 503) {
                    ++tally.unavailable;
                } else {
                    ++tally.other;
                }
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    std::sort(tally.remaining.begin(), tally.remaining.end());
    return tally;
}

std::vector<long long> zero_to(long long end)
{
    std::vector<long long> numbers;
    for (long long i = 0; i < end; ++i) {
        numbers.push_back(i);
    }
    return numbers;
}

struct Hosts {
    explicit Hosts(const RedisServer& redis, int count = 3)
    {
        NginxOptions options;
        options.redis = redis.url();
        options.workers = 2;
        // A ban would only hide what is counted here.
        options.http = "petstore_ban off;";
        for (int i = 0; i < count; ++i) {
            servers.push_back(std::make_unique<NginxServer>(options));
        }
    }
    std::vector<const NginxServer*> all() const
    {
        std::vector<const NginxServer*> list;
        for (const auto& server : servers) {
            list.push_back(server.get());
        }
        return list;
    }
    std::vector<std::unique_ptr<NginxServer>> servers;
};

// Ends a running window now. What the clock would do in a minute.
void end_window(const RedisServer& redis, const Key& key, const char* window)
{
    const auto name = "petstore:{" + key.account + "}:" + window;
    REQUIRE(redis.command({"DEL", name}).integer == 1);
}

}  // namespace

TEST_CASE("limits: three hosts of two workers admit exactly the plan")
{
    RedisServer redis;
    const Hosts hosts(redis);
    const std::vector<std::pair<std::string, int>> plans = {
        {"free", 60}, {"pro", 300}, {"business", 1000}};
    for (const auto& [plan, limit] : plans) {
        INFO(plan);
        const auto key = create_key(redis, {"--plan", plan});
        const auto tally = storm(hosts.all(), key, 2 * limit);
        CHECK(tally.remaining == zero_to(limit));
        CHECK(tally.denied == limit);
        CHECK(tally.unavailable == 0);
        CHECK(tally.other == 0);
    }
}

TEST_CASE("limits: the day window is as exact as the minute")
{
    RedisServer redis;
    const Hosts hosts(redis, 2);
    const auto key = create_key(redis, {"--plan", "enterprise", "--per-minute",
                                        "100000", "--per-day", "200"});
    const auto tally = storm(hosts.all(), key, 400);
    CHECK(tally.remaining == zero_to(200));
    CHECK(tally.denied == 200);

    const auto response = Http(hosts.all()[0]->url(), key.secret).get("/v1/pets");
    const auto message = expect_error(response, 429, "rate_limit_exceeded");
    CHECK(contains(message, "day"));
    CHECK(rate_headers_of(response).limit == 200);
    CHECK(rate_headers_of(response).remaining == 0);
    CHECK(std::atoll(response.header("retry-after").c_str()) > 86000);
}

TEST_CASE("limits: a request denied by the minute costs nothing of the day")
{
    RedisServer redis;
    const Hosts hosts(redis, 2);
    const auto key = create_key(redis, {"--plan", "enterprise", "--per-minute", "40",
                                        "--per-day", "100"});
    CHECK(storm(hosts.all(), key, 200).remaining.size() == 40);
    for (const std::size_t expected : {40u, 20u}) {
        end_window(redis, key, "minute");
        std::size_t admitted = 0;
        // Hosts that deny from memory ask again within a second.
        const auto deadline = Clock::now() + 5s;
        while (admitted < expected && Clock::now() < deadline) {
            admitted += storm(hosts.all(), key, 64).remaining.size();
        }
        admitted += storm(hosts.all(), key, 64).remaining.size();
        CHECK(admitted == expected);
    }
    const auto day = redis.command({"GET", "petstore:{" + key.account + "}:day"});
    CHECK(day.text == "100");
}

TEST_CASE("limits: over the ends of windows exactly the limit each time")
{
    RedisServer redis;
    const Hosts hosts(redis, 2);
    const auto key = create_key(redis, {"--plan", "enterprise", "--per-minute", "50",
                                        "--per-day", "1000000"});
    const auto name = "petstore:{" + key.account + "}:minute";
    std::size_t total = 0;
    std::size_t windows = 0;
    for (int round = 0; round < 3; ++round) {
        std::size_t admitted = 0;
        const auto deadline = Clock::now() + 10s;
        while (admitted < 50 && Clock::now() < deadline) {
            admitted += storm(hosts.all(), key, 32, 16).remaining.size();
        }
        CHECK(admitted == 50);
        total += admitted;
        ++windows;
        // The window ends by Redis's own clock while requests keep coming.
        CHECK(redis.command({"PEXPIRE", name, "300"}).integer == 1);
        CHECK(wait_until([&] {
            return redis.command({"EXISTS", name}).integer == 0;
        }));
    }
    CHECK(total == windows * 50);
}

TEST_CASE("limits: nothing is left in Redis without an end")
{
    Store store;
    const auto key = create_key(store.redis, {"--plan", "free"});
    storm({&store.nginx}, key, 70, 8);
    for (const auto& name :
         store.redis.command({"KEYS", "petstore:{" + key.account + "}:*"}).items) {
        const bool counter = contains(name.text, "}:minute")
                             || contains(name.text, "}:day")
                             || contains(name.text, "}:strikes")
                             || contains(name.text, "}:bans");
        if (counter) {
            INFO(name.text);
            CHECK(store.redis.command({"PTTL", name.text}).integer > 0);
        }
    }
    const auto minute = "petstore:{" + key.account + "}:minute";
    CHECK(store.redis.command({"PTTL", minute}).integer <= 60000);
}

TEST_CASE("limits: exact while a host reloads")
{
    RedisServer redis;
    Hosts hosts(redis, 2);
    const auto key = create_key(redis, {"--plan", "business"});
    std::atomic<bool> stop{false};
    std::thread reloader([&] {
        while (!stop) {
            hosts.servers[0]->reload();
        }
    });
    const auto tally = storm(hosts.all(), key, 3000, 32);
    stop = true;
    reloader.join();
    CHECK(tally.remaining == zero_to(1000));
    CHECK(tally.other == 0);
}

TEST_CASE("limits: exact while Redis forgets its scripts")
{
    RedisServer redis;
    Hosts hosts(redis, 2);
    const auto key = create_key(redis, {"--plan", "business"});
    std::atomic<bool> stop{false};
    std::thread forgetter([&] {
        auto client = redis.client();
        while (!stop) {
            client.command({"SCRIPT", "FLUSH"});
        }
    });
    const auto tally = storm(hosts.all(), key, 2000, 32);
    stop = true;
    forgetter.join();
    CHECK(tally.remaining == zero_to(1000));
    CHECK(tally.denied == 1000);
    CHECK(tally.other == 0);
}

TEST_CASE("limits: Redis killed in mid-storm admits not one more")
{
    RedisServer redis;
    Hosts hosts(redis, 2);
    const auto key = create_key(redis, {"--plan", "business"});
    std::atomic<bool> stop{false};
    std::thread killer([&] {
        for (int i = 0; i < 3 && !stop; ++i) {
            redis.kill_hard();
            redis.start();
            const auto day = "petstore:{" + key.account + "}:day";
            wait_until([&] {
                static thread_local std::string last;
                const auto text = redis.command({"GET", day}).text;
                const bool moved = text != last;
                last = text;
                return stop || moved;
            });
        }
    });
    Tally sum;
    const auto deadline = Clock::now() + 20s;
    while (sum.denied == 0 && Clock::now() < deadline) {
        const auto tally = storm(hosts.all(), key, 500, 32);
        sum.remaining.insert(sum.remaining.end(), tally.remaining.begin(),
                             tally.remaining.end());
        sum.denied += tally.denied;
        sum.unavailable += tally.unavailable;
        sum.other += tally.other;
    }
    stop = true;
    killer.join();
    CHECK(sum.denied > 0);
    CHECK(sum.other == 0);
    CHECK(sum.remaining.size() <= 1000);
    std::sort(sum.remaining.begin(), sum.remaining.end());
    CHECK(std::adjacent_find(sum.remaining.begin(), sum.remaining.end())
          == sum.remaining.end());  // no place was given twice
}

TEST_CASE("limits: a 429 says which limit and when to come back")
{
    Store store;
    const auto key = create_key(store.redis, {"--plan", "free"});
    Http http(store.nginx.url(), key.secret);
    RateHeaders last;
    for (int i = 0; i < 60; ++i) {
        const auto response = http.get("/v1/pets");
        REQUIRE(response.status == 200);
        last = rate_headers_of(response);
    }
    CHECK(last.remaining == 0);
    for (const auto& response :
         {http.get("/v1/pets"), http.get("/v1/pets/1"), http.get("/v1/nowhere"),
          http.post("/v1/pets", "nonsense"), http.request("DELETE", "/v1/pets")}) {
        const auto message = expect_error(response, 429, "rate_limit_exceeded");
        CHECK(contains(message, "60"));
        CHECK(contains(message, "minute"));
        const auto rate = rate_headers_of(response);
        CHECK(rate.limit == 60);
        CHECK(rate.remaining == 0);
        CHECK(rate.reset == last.reset);
        const auto wait = std::atoll(response.header("retry-after").c_str());
        const auto now = static_cast<long long>(std::time(nullptr));
        CHECK(wait >= 1);
        CHECK(std::llabs(rate.reset - now - wait) <= 1);
    }
    const auto head = http.head("/v1/pets");
    CHECK(head.status == 429);
    CHECK(head.body.empty());
    // OPTIONS and no key at all are another matter.
    CHECK(http.request("OPTIONS", "/v1/pets").status == 204);
    CHECK(Http(store.nginx.url()).get("/v1/pets").status == 401);
}

TEST_CASE("limits: both windows over tell of the later reset")
{
    Store store;
    const auto key = create_key(store.redis, {"--plan", "enterprise", "--per-minute",
                                              "3", "--per-day", "3"});
    Http http(store.nginx.url(), key.secret);
    for (int i = 0; i < 3; ++i) {
        CHECK(http.get("/v1/pets").status == 200);
    }
    const auto response = http.get("/v1/pets");
    CHECK(contains(expect_error(response, 429, "rate_limit_exceeded"), "day"));
    CHECK(rate_headers_of(response).reset
          >= static_cast<long long>(std::time(nullptr)) + 86390);
}

TEST_CASE("limits: a storm of denied requests hardly reaches Redis")
{
    NginxOptions options;
    options.workers = 2;
    SECTION("limited") { options.location = "petstore_ban off;"; }
    SECTION("banned") { options.location = "petstore_ban threshold=10;"; }
    Store store(options);
    const auto key = create_key(store.redis, {"--plan", "free"});
    storm({&store.nginx}, key, 200, 16);
    Monitor monitor(store.redis);
    const auto start = Clock::now();
    constexpr int kRequests = 10000;
    const auto tally = storm({&store.nginx}, key, kRequests, 32);
    const auto seconds =
        1 + std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start)
                .count();
    CHECK(tally.denied == kRequests);
    const auto commands = static_cast<long long>(monitor.names().size());
    INFO(commands << " commands in " << seconds << " s");
    CHECK(commands <= 2 * 5 * seconds);
}

TEST_CASE("limits: dry run decides and lets through")
{
    NginxOptions options;
    options.location = "petstore_limit_dry_run on;";
    Store store(options);
    const auto key = create_key(store.redis, {"--plan", "free"});
    const auto tally = storm({&store.nginx}, key, 100, 4);
    CHECK(tally.remaining.size() == 100);
    CHECK(std::count(tally.remaining.begin(), tally.remaining.end(), 0) == 41);
}

TEST_CASE("limits: accounts do not share a budget and keys of one account do")
{
    Store store;
    const auto one = create_key(store.redis, {"--plan", "free"});
    const auto other = create_key(store.redis, {"--plan", "free"});
    CHECK(storm({&store.nginx}, one, 100, 8).remaining.size() == 60);
    CHECK(storm({&store.nginx}, other, 100, 8).remaining.size() == 60);
}
