// docs/guard.md: slow and broken clients, back ends and Redis; many requests
// at once.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

#include "support/guarded_store.h"
#include "support/out_of_memory.h"

using namespace petstore::e2e;

namespace {

// What counts as "at once" on a loaded machine.
constexpr auto kAtOnce = 5s;

std::vector<RawClient> clients_of(const Store& store, int count,
                                  const std::string& request)
{
    std::vector<RawClient> clients;
    for (int i = 0; i < count; ++i) {
        clients.emplace_back(store.nginx.port());
        clients.back().send(request);
    }
    return clients;
}

bool recovers(Http& http)
{
    return wait_until([&] { return http.get("/shop/").status == 200; });
}

std::string shop_request(const std::string& secret)
{
    return "GET /shop/ HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " + secret
           + "\r\n\r\n";
}

}  // namespace

TEST_CASE("guard: without Redis requests are refused at once")
{
    GuardedStore shop(
        {}, "petstore_redis_connect_timeout 10s; petstore_redis_timeout 5s;");
    auto& store = shop.store;
    CHECK(store.http.get("/shop/").status == 200);
    store.redis.stop();
    for (int i = 0; i < 5; ++i) {
        const auto start = Clock::now();
        const auto refused = store.http.post("/shop/", "x");
        expect_error(refused, 503, "service_unavailable");
        CHECK(number(refused, "retry-after") >= 1);
        CHECK(Clock::now() - start < kAtOnce);
    }
    // A missing key is still reported as such.
    expect_error(store.http.get("/shop/", kNoKey), 401, "missing_api_key");
    CHECK(shop.back_end.count() == 1);
    store.redis.start();
    CHECK(recovers(store.http));
}

TEST_CASE("guard: a Redis that hangs")
{
    GuardedStore shop(
        {}, "petstore_redis_connect_timeout 10s; petstore_redis_timeout 2s;");
    auto& store = shop.store;
    CHECK(store.http.get("/shop/").status == 200);
    store.redis.pause();
    expect_error(store.http.get("/shop/"), 503, "service_unavailable");
    store.redis.resume();
    CHECK(recovers(store.http));
}

TEST_CASE("guard: clients that leave while Redis is asked leave nothing behind")
{
    NginxOptions options;
    options.tls = true;
    options.server = "location /page/ { alias %DIR%/; ssi on; }";
    GuardedStore shop(options);
    auto& store = shop.store;
    const std::string include = "<!--# include virtual=\"/shop/\" -->";
    write_file(store.nginx.path("page.html"), include + include + include);
    CHECK(store.http.get("/shop/").status == 200);
    store.http.close();
    const auto sockets = store.nginx.sockets_at_rest();
    const auto reached = shop.back_end.count();

    for (int round = 0; round < 3; ++round) {
        store.redis.pause();
        {
            auto clients =
                clients_of(store, 20, store.head("GET /shop/ HTTP/1.1"));
            auto uploads = clients_of(
                store, 20,
                store.head("POST /shop/ HTTP/1.1", "Content-Length: 9\r\n")
                    + "half");
            auto pages = clients_of(store, 20,
                                    store.head("GET /page/page.html HTTP/1.1"));
            Http http2(store.nginx.tls_url(), store.key.secret);
            http2.use_http2();
            http2.tolerate_failures();
            http2.set_timeout(200ms);
            CHECK(http2.post("/shop/", "x").status == 0);
            for (auto& client : clients) {
                client.reset();
            }
        }
        // nginx notices before Redis answers.
        CHECK(store.nginx.sockets_at_rest() <= sockets);
        store.redis.resume();
    }
    CHECK(store.http.get("/shop/").status == 200);
    store.http.close();
    CHECK(store.nginx.sockets_at_rest() <= sockets);
    CHECK(shop.back_end.count() == reached + 1);
}

TEST_CASE("guard: clients that left before their request was read")
{
    NginxOptions options;
    options.server = R"(
        location /page/ {
            petstore_guard on;
            proxy_pass http://%BACK_END%;
            add_before_body /shop/before;
        }
        location /file/ { petstore_guard on; root %DIR%; })";
    GuardedStore shop(options);
    auto& store = shop.store;
    const auto worker = store.nginx.workers().at(0);
    const auto limited = limited_key(store.redis, 1);
    CHECK(Http(store.nginx.url(), limited.secret).get("/shop/").status == 200);
    for (int i = 0; i < 10; ++i) {
        for (const auto& key : {store.key, limited, create_key(store.redis)}) {
            for (const char* path : {"/shop/", "/page/", "/file/x"}) {
                kill(worker, SIGSTOP);
                {
                    RawClient client(store.nginx.port());
                    client.send(
                        "GET " + std::string(path)
                        + " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer "
                        + key.secret + "\r\n\r\n");
                    client.reset();
                }
                kill(worker, SIGCONT);
            }
        }
    }
    CHECK(store.http.get("/shop/").status == 200);
    CHECK(store.nginx.workers() == std::vector<pid_t>{worker});
}

TEST_CASE("guard: nginx ends while Redis hangs")
{
    GuardedStore shop(
        {}, "petstore_redis_connect_timeout 10s; petstore_redis_timeout 60s;");
    auto& store = shop.store;
    CHECK(store.http.get("/shop/").status == 200);
    store.redis.pause();
    auto clients = clients_of(store, 20, store.head("GET /shop/ HTTP/1.1"));
    CHECK(wait_until([&] { return store.nginx.sockets() >= 20; }));
    kill(store.nginx.master(), SIGTERM);
    CHECK(wait_until([&] { return !process_exists(store.nginx.master()); }));
    store.redis.resume();
    CHECK(shop.back_end.count() == 1);
}

TEST_CASE("guard: slow clients and back ends do not need Redis once admitted")
{
    GuardedStore shop({},
                      "proxy_request_buffering off;proxy_http_version 1.1;");
    auto& store = shop.store;
    CHECK(store.http.get("/shop/").status == 200);
    const auto connections = store.redis.info("connected_clients");

    // Half a body, and a back end that does not respond.
    shop.back_end.hold();
    auto uploads = clients_of(
        store, 20,
        store.head("POST /shop/ HTTP/1.1", "Content-Length: 8\r\n") + "half");
    auto clients = clients_of(store, 20, store.head("GET /shop/ HTTP/1.1"));
    CHECK(wait_until([&] { return shop.charged() == 41; }));
    CHECK(wait_until([&] { return shop.back_end.count() == 21; }));
    CHECK(store.redis.info("connected_clients") <= connections);
    CHECK(store.redis.info("blocked_clients") == 0);
    // They are already admitted and do not need Redis any more.
    store.redis.stop();
    for (auto& upload : uploads) {
        upload.send("half");
    }
    CHECK(wait_until([&] { return shop.back_end.count() == 41; }));
    shop.back_end.release();
    for (auto* group : {&uploads, &clients}) {
        for (auto& client : *group) {
            const auto response = client.read();
            CHECK(response.status == 200);
            rate_headers_of(response);
        }
    }
}

TEST_CASE("guard: concurrent requests share the lookup of their key")
{
    // The worker has not cached the key, so it reads the record first.
    GuardedStore shop;
    auto& store = shop.store;
    store.redis.pause();
    auto clients = clients_of(store, 50, store.head("GET /shop/ HTTP/1.1"));
    store.redis.resume();
    std::vector<long long> remaining;
    for (auto& client : clients) {
        const auto response = client.read();
        CHECK(response.status == 200);
        remaining.push_back(rate_headers_of(response).remaining);
    }
    std::sort(remaining.begin(), remaining.end());
    CHECK(std::unique(remaining.begin(), remaining.end()) == remaining.end());
    CHECK(shop.charged() == 50);
}

TEST_CASE("guard: limits shared with the API are exact across workers")
{
    NginxOptions options;
    options.server = R"(
        location /shop/ {
            petstore_guard on;
            access_log off;
            keepalive_requests 100000000;
            default_type text/plain;
            alias %DIR%/;
        })";
    Hosts hosts(1, options);
    write_file(hosts.nginx.at(0)->path("file"), "file");
    constexpr long long kLimit = 600;
    const auto key = limited_key(hosts.redis, kLimit);

    auto guarded = hosts.storm(key);
    replace_all(guarded.request, "/v1/pets", "/shop/file");
    auto api = hosts.storm(key);
    std::vector<Answer> answers;
    std::thread other([&] { answers = guarded.run(kLimit); });
    auto more = api.run(kLimit);
    other.join();
    answers.insert(answers.end(), more.begin(), more.end());

    check_exact(answers, kLimit);
    CHECK(used(hosts.redis, key, "minute") == kLimit);
    // The guard alone is exact, too.
    const auto second = limited_key(hosts.redis, kLimit);
    guarded.request = shop_request(second.secret);
    replace_all(guarded.request, "/shop/", "/shop/file");
    check_exact(guarded.run(2 * kLimit), kLimit);
}

TEST_CASE("guard: reload under load loses nothing")
{
    NginxOptions options;
    options.workers = 2;
    GuardedStore shop(options);
    auto& store = shop.store;
    std::atomic<bool> stop{false};
    std::atomic<int> good{0};
    std::atomic<int> bad{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            auto http = store.client();
            http.tolerate_failures();
            while (!stop) {
                const auto response = http.post("/shop/", "body");
                ++(response.status == 200 && response.body == "back end" ? good
                                                                         : bad);
            }
        });
    }
    const auto more = [&] {
        const int before = good;
        return wait_until([&] { return good > before + 50; });
    };
    CHECK(more());
    for (int i = 0; i < 3; ++i) {
        store.nginx.reload();
        CHECK(more());
    }
    stop = true;
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(bad == 0);
    CHECK(shop.charged() == good);
    CHECK(shop.back_end.count() == static_cast<std::size_t>(good));
}

TEST_CASE("guard: out of memory")
{
    NginxOptions options;
    options.http = "petstore_ban off;";
    options.server = R"(
        location /files/ { petstore_guard on; alias %DIR%/; }
        location /page/ { alias %DIR%/; ssi on; })";
    StarvedServer target(options);
    write_file(target.nginx.path("a.txt"), "0123456789");
    write_file(target.nginx.path("page.html"),
               "<!--# include virtual=\"/files/a.txt\" -->");
    const auto limited = limited_key(target.redis, 1);
    Key fresh;
    const auto get = [&](const std::string& path, const Key& key) {
        return [&target, &key, path] {
            return target.send(
                {"GET", path, {{"Authorization", "Bearer " + key.secret}}});
        };
    };
    fail_each_allocation(
        target,
        {{"admitted", get("/files/a.txt", target.key),
          is_body(200, "0123456789")},
         {"a new key", get("/files/a.txt", fresh), is_body(200, "0123456789"),
          [&] { fresh = create_key(target.redis); }},
         {"a missing file", get("/files/none", target.key),
          is_error(404, "not_found")},
         {"no key",
          [&] {
              return target.send({"GET", "/files/a.txt", kNoKey});
          },
          is_error(401, "missing_api_key")},
         {"over the limit", get("/files/a.txt", limited),
          is_error(429, "rate_limit_exceeded"),
          [&] { get("/files/a.txt", limited)(); }}});
}
