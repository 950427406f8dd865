// Reloads, shutdowns and killed workers: no request is lost, and nothing is
// left behind.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include "support/old_clients.h"
#include "support/one_worker.h"
#include "support/store.h"

using namespace petstore::e2e;

namespace {

// Clients that send requests until stopped. During a reload, nginx may close
// idle connections but must not cut off a response.
class Load {
public:
    Load(const Store& store, int threads)
    {
        for (int t = 0; t < threads; ++t) {
            threads_.emplace_back([this, &store] {
                auto http = store.client();
                http.tolerate_failures();
                for (int i = 0; !stop_; ++i) {
                    const auto response =
                        i % 3 == 0 ? http.post(
                            "/v1/pets", "{\"name\":\"n\",\"categoryId\":1}")
                        : i % 3 == 1 ? http.get("/v1/pets?limit=5")
                                     : http.get("/v1/pets/1");
                    if (response.status == 200 || response.status == 201) {
                        ++good_;
                    } else if (response.status != 0) {
                        ++bad_;
                    } else {
                        ++none_;
                    }
                }
            });
        }
    }
    ~Load() { stop(); }

    void stop()
    {
        stop_ = true;
        for (auto& thread : threads_) {
            if (thread.joinable()) {
                thread.join();
            }
        }
    }
    bool more(int count)
    {
        const int before = good_;
        return wait_until([&] { return good_ > before + count; }, 20s);
    }
    int good() const { return good_; }
    int bad() const { return bad_; }
    int none() const { return none_; }

private:
    std::atomic<bool> stop_{false};
    std::atomic<int> good_{0};
    std::atomic<int> bad_{0};
    std::atomic<int> none_{0};
    std::vector<std::thread> threads_;
};

NginxOptions with_workers(int workers)
{
    NginxOptions options;
    options.workers = workers;
    return options;
}

const std::string kWithoutStore =
    one_worker("%HTTP%", "location / { root %DIR%; }");

// What nginx finds out after it has parsed the configuration.
const char* const kUnusable = "access_log %DIR%/none/access.log;";

NginxOptions refusing(NginxOptions options)
{
    options.kills_workers = true;
    options.refuses_reload = true;
    return options;
}

// Reloads a configuration that nginx refuses, then replaces the worker.
void replace_worker_after(NginxServer& nginx, const NginxOptions& refused)
{
    nginx.change(refusing(refused));
    kill(nginx.master(), SIGHUP);
    REQUIRE(wait_until([&] { return contains(nginx.error_log(), "[emerg]"); }));
    const auto before = nginx.workers();
    REQUIRE(before.size() == 1);
    kill(before.front(), SIGKILL);
    REQUIRE(wait_until([&] {
        const auto now = nginx.workers();
        return now.size() == 1 && now != before;
    }));
}

// Whether nginx's own filters are there.
void expect_not_modified(Http& http, const std::string& path)
{
    const auto file = http.get(path);
    CHECK(file.status == 200);
    CHECK(http.get(path, {{"If-Modified-Since", file.header("last-modified")}})
              .status
          == 304);
}

}  // namespace

TEST_CASE("lifecycle: reload under load breaks no answer")
{
    int workers = 1;
    SECTION("one worker")
    {
        workers = 1;
    }
    SECTION("two workers")
    {
        workers = 2;
    }
    Store store(with_workers(workers));
    import_pets(store.redis, 10);
    Load load(store, 8);
    CHECK(load.more(50));
    for (int i = 0; i < 5; ++i) {
        store.nginx.reload();
        CHECK(load.more(50));
    }
    load.stop();
    CHECK(load.bad() == 0);
    CHECK(load.none() == 0);
}

TEST_CASE("lifecycle: old workers end and close their connections to Redis")
{
    Store store(with_workers(2));
    Http http(store.nginx.url(), store.key.secret);
    const auto mine = store.redis.info("connected_clients");
    for (int i = 0; i < 5; ++i) {
        for (int request = 0; request < 16; ++request) {
            CHECK(store.client().get("/v1/pets").status == 200);
        }
        store.nginx.reload_and_settle();
    }
    CHECK(wait_until(
        [&] { return store.redis.info("connected_clients") <= mine + 2 * 2; }));
}

TEST_CASE("lifecycle: quit under load ends in time and finishes what it began")
{
    Store store(with_workers(2));
    import_pets(store.redis, 10);
    Load load(store, 8);
    CHECK(load.more(100));
    store.nginx.quit();
    load.stop();
    CHECK(load.bad() == 0);
}

TEST_CASE("lifecycle: quit and reload while Redis hangs")
{
    NginxOptions options = with_workers(2);
    options.location = "petstore_redis_timeout 500ms;";
    Store store(options);
    REQUIRE(wait_until(
        [&] { return store.client().get("/v1/pets").status == 200; }));
    store.redis.pause();
    std::vector<RawClient> waiting;
    for (int i = 0; i < 10; ++i) {
        waiting.emplace_back(store.nginx.port());
        waiting.back().send(store.head("GET /v1/pets HTTP/1.1"));
    }
    store.nginx.reload();
    for (auto& client : waiting) {
        expect_error(client.read(), 503, "service_unavailable");
    }
    const auto start = Clock::now();
    store.nginx.quit();
    CHECK(Clock::now() - start < 60s);
}

TEST_CASE("lifecycle: an old worker serves again when Redis is back")
{
    NginxOptions options = with_workers(1);
    options.location = "petstore_redis_timeout 500ms;";
    Store store(options);
    OldClients clients(store.nginx, store.key);
    store.redis.pause();
    expect_error(clients.get(), 503, "service_unavailable");
    store.redis.resume();
    CHECK(clients.recover());
}

TEST_CASE("lifecycle: an old worker that reconnects ends with its last request")
{
    NginxOptions options = with_workers(1);
    options.location =
        "petstore_redis_timeout 500ms; petstore_redis_connect_timeout 60s;";
    Store store(options);
    const pid_t worker = store.nginx.workers().at(0);
    OldClients clients(store.nginx, store.key, 2);
    const auto before = descriptors_of(worker);
    store.redis.pause();
    expect_error(clients.get(), 503, "service_unavailable");
    // It reconnects.
    REQUIRE(wait_until([&] {
        const auto now = descriptors_of(worker);
        return std::any_of(now.begin(), now.end(), [&](const auto& target) {
            return std::find(before.begin(), before.end(), target)
                   == before.end();
        });
    }));
    const auto start = Clock::now();
    clients.leave();
    CHECK(wait_until([&] { return !process_exists(worker); }));
    CHECK(Clock::now() - start < 30s);
    store.redis.resume();
}

TEST_CASE("lifecycle: a fast shutdown with requests waiting")
{
    NginxOptions options = with_workers(2);
    options.location =
        "petstore_redis_connect_timeout 10s; petstore_redis_timeout 60s;";
    Store store(options);
    CHECK(store.client().get("/v1/pets").status == 200);
    store.redis.pause();
    std::vector<RawClient> waiting;
    for (int i = 0; i < 20; ++i) {
        waiting.emplace_back(store.nginx.port());
        waiting.back().send(store.head(i % 2 ? "GET /v1/pets HTTP/1.1"
                                             : "GET /v1/pets/1 HTTP/1.1"));
    }
    CHECK(wait_until([&] { return store.nginx.sockets() >= 20; }));
    kill(store.nginx.master(), SIGTERM);
    CHECK(wait_until([&] { return !process_exists(store.nginx.master()); }));
    store.redis.resume();
}

TEST_CASE("lifecycle: a killed worker is replaced and the rest goes on")
{
    Store store(with_workers(1));
    CHECK(store.client().get("/v1/pets").status == 200);
    const auto before = store.nginx.workers();
    REQUIRE(before.size() == 1);
    kill(before.front(), SIGTERM);  // only the worker, gracefully
    CHECK(wait_until([&] {
        const auto now = store.nginx.workers();
        return now.size() == 1 && now != before;
    }));
    CHECK(store.client().get("/v1/pets").status == 200);
}

TEST_CASE("lifecycle: descriptors are back to the start after a storm")
{
    Store store(with_workers(2));
    import_pets(store.redis, 10);
    for (int i = 0; i < 32; ++i) {
        CHECK(store.client().get("/v1/pets").status == 200);
    }
    const auto before = store.nginx.sockets_at_rest();
    {
        Load load(store, 16);
        CHECK(load.more(500));
    }
    CHECK(wait_until([&] { return store.nginx.sockets_at_rest() == before; }));
}

TEST_CASE("lifecycle: a reload can change the store")
{
    Store store;
    RedisServer other;
    const auto key = create_key(other);
    CHECK(
        store.http.post("/v1/pets", "{\"name\":\"n\",\"categoryId\":1}").status
        == 201);
    NginxOptions options;
    options.redis = other.url();
    options.location = "petstore_max_body_size 20;";
    store.nginx.change(options);
    store.nginx.reload_and_settle();
    Http http(store.nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").body == "[]");
    CHECK(http.post("/v1/pets", "{\"name\":\"n\",\"categoryId\":1}").status
          == 413);
    CHECK(store.client().get("/v1/pets").status == 401);
}

TEST_CASE("lifecycle: a broken configuration on reload changes nothing")
{
    Store store;
    NginxOptions broken;
    broken.redis = store.redis.url();
    broken.location = "petstore_max_body_size nonsense;";
    const auto workers = store.nginx.workers();
    // Checked in a separate process: nginx rightly logs [emerg], which the
    // harness would report as a fault.
    CHECK(NginxServer::check(broken).code != 0);
    CHECK(store.nginx.workers() == workers);
}

TEST_CASE("lifecycle: a worker started after a failed reload serves as before")
{
    NginxOptions options;
    options.server = R"(
        petstore_cors *;
        location /page { petstore_guard on; root %DIR%; }
        location /denied/ { petstore_guard on; deny all; })";
    Store store(refusing(options));
    write_file(store.nginx.path("page"), "page");

    NginxOptions refused;
    refused.redis = store.redis.url();
    SECTION("by the module")
    {
        refused.http = "petstore_redis_ssl_verify off;";
    }
    SECTION("of a configuration without the module's directives")
    {
        refused.file = kWithoutStore;
        refused.http = kUnusable;
    }
    SECTION("of a configuration without CORS")
    {
        refused.http = kUnusable;
    }
    replace_worker_after(store.nginx, refused);

    auto http = store.client();
    const auto page = http.get("/page");
    CHECK(page.body == "page");
    CHECK(page.header("access-control-allow-origin") == "*");
    rate_headers_of(page);
    expect_not_modified(http, "/page");
    expect_error(http.get("/denied/"), 403, "forbidden");
}

TEST_CASE("lifecycle: a refused reload that is the first to load the module")
{
    NginxOptions options;
    options.file = kWithoutStore;
    replace_all(options.file, "load_module %MODULE%;", "");
    NginxServer nginx(refusing(options));
    write_file(nginx.path("page"), "page");
    NginxOptions refused;
    refused.file = kWithoutStore;
    refused.http = kUnusable;
    replace_worker_after(nginx, refused);

    Http http(nginx.url());
    expect_not_modified(http, "/page");
    CHECK(http.get("/none").status == 404);

    // nginx gives the next module the indexes that this one had.
    const std::string other =
        "load_module /usr/lib/nginx/modules/ngx_http_image_filter_module.so;";
    const std::string without = options.file;
    options.file = other + without;
    nginx.change(refusing(options));
    nginx.reload_and_settle();
    expect_not_modified(http, "/page");
    const RedisServer redis;
    options.file = other
                   + one_worker("petstore_redis " + redis.url() + ";",
                                "location /v1/ { petstore; }");
    nginx.change(refusing(options));
    nginx.reload_and_settle();
    expect_error(http.get("/v1/pets"), 401, "missing_api_key");

    // A configuration that has the module, but no http block.
    options.file = "load_module %MODULE%; daemon off; pid nginx.pid;"
                   "error_log error.log info; worker_processes 1; events { }";
    nginx.change(refusing(options));
    nginx.reload_and_settle();
    options.file = without;
    nginx.change(refusing(options));
    nginx.reload_and_settle();
    expect_not_modified(http, "/page");
}

TEST_CASE("lifecycle: a module file that nginx has refused can be replaced")
{
    NginxOptions options;
    options.file = kWithoutStore;
    replace_all(options.file, "load_module %MODULE%;", "");
    NginxServer nginx(refusing(options));

    const std::string file = nginx.path("module.so");
    auto for_another_nginx = read_file(module_file());
    REQUIRE(contains(for_another_nginx, "8,4,8,"));  // NGX_MODULE_SIGNATURE
    replace_all(for_another_nginx, "8,4,8,", "9,4,8,");
    write_file(file, for_another_nginx);
    const RedisServer redis;
    auto refused = one_worker("petstore_redis " + redis.url() + ";",
                              "location /v1/ { petstore; }");
    replace_all(refused, "%MODULE%", file);
    options.file = refused;
    replace_worker_after(nginx, options);
    CHECK(contains(nginx.error_log(), "is not binary compatible"));

    if (sanitized()) {
        return;  // that build is linked so that it stays
    }
    std::filesystem::remove(file);
    std::filesystem::copy_file(module_file(), file);
    nginx.reload_and_settle();
    expect_error(Http(nginx.url()).get("/v1/pets"), 401, "missing_api_key");
}

TEST_CASE("lifecycle: a failed reload adds nothing where the module is unused")
{
    NginxOptions options;
    options.file = kWithoutStore;
    NginxServer nginx(refusing(options));
    write_file(nginx.path("page"), "page");
    NginxOptions refused;
    refused.redis = "redis://127.0.0.1";
    refused.http =
        std::string("petstore_cors *; petstore_json_errors on;") + kUnusable;
    replace_worker_after(nginx, refused);

    Http http(nginx.url());
    expect_not_modified(http, "/page");
    const auto missing = http.get("/none");
    CHECK(missing.status == 404);
    CHECK(missing.header("content-type") == "text/html");
    CHECK_FALSE(missing.has("access-control-allow-origin"));
}
