// docs/directives.md, "petstore_health": for load balancers and orchestrators.
#include "support/one_worker.h"
#include "support/store.h"

using namespace petstore::e2e;

namespace {

NginxOptions with_health(NginxOptions options = {})
{
    options.server += R"(
        location = /livez { petstore_health live; }
        location = /readyz { petstore_health ready; })";
    return options;
}

int status_of(const NginxServer& nginx, const std::string& path)
{
    return Http(nginx.url()).get(path).status;
}

}  // namespace

TEST_CASE("health: live and ready while all is well")
{
    Store store(with_health());
    Http http(store.nginx.url());
    for (const char* const path : {"/livez", "/readyz"}) {
        INFO(path);
        const auto response = http.get(path);
        CHECK(response.status == 204);
        CHECK(response.body.empty());
        CHECK(response.header("cache-control") == "no-store");
        CHECK_FALSE(response.has("x-ratelimit-limit"));
        CHECK(http.head(path).status == 204);
        const auto post = http.post(path, "a body");
        CHECK(post.status == 405);
        CHECK(post.header("allow") == "GET, HEAD");
    }
}

TEST_CASE("health: without Redis a host is live but not ready")
{
    Store store(with_health());
    REQUIRE(status_of(store.nginx, "/readyz") == 204);
    store.redis.stop();
    REQUIRE(
        wait_until([&] { return status_of(store.nginx, "/readyz") == 503; }));
    CHECK(status_of(store.nginx, "/livez") == 204);
    const auto response = Http(store.nginx.url()).get("/readyz");
    CHECK(response.json()["code"] == "service_unavailable");
    CHECK(response.json()["status"] == 503);
    store.redis.start();
    CHECK(wait_until([&] { return status_of(store.nginx, "/readyz") == 204; }));
}

TEST_CASE("health: a silent Redis is not ready after its timeout")
{
    auto options = with_health();
    options.http = "petstore_redis_timeout 1s;";
    Store store(options);
    REQUIRE(
        wait_until([&] { return status_of(store.nginx, "/readyz") == 204; }));
    store.redis.pause();
    CHECK(wait_until([&] { return status_of(store.nginx, "/readyz") == 503; }));
    CHECK(status_of(store.nginx, "/livez") == 204);
    store.redis.resume();
    CHECK(wait_until([&] { return status_of(store.nginx, "/readyz") == 204; }));
}

TEST_CASE("health: Redis is checked once per second at most")
{
    Store store(with_health());
    REQUIRE(status_of(store.nginx, "/readyz") == 204);
    Monitor monitor(store.redis);
    Http http(store.nginx.url());
    const auto start = Clock::now();
    for (int i = 0; i < 200; ++i) {
        REQUIRE(http.get("/readyz").status == 204);
    }
    const auto seconds =
        std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start)
            .count();
    CHECK(static_cast<long long>(monitor.names().size()) <= seconds + 1);
}

TEST_CASE("health: both Redis must answer")
{
    RedisServer limits;
    auto options = with_health();
    options.http = "petstore_limit_redis " + limits.url() + ";";
    Store store(options);
    REQUIRE(status_of(store.nginx, "/readyz") == 204);
    limits.stop();
    CHECK(wait_until([&] { return status_of(store.nginx, "/readyz") == 503; }));
    limits.start();
    CHECK(wait_until([&] { return status_of(store.nginx, "/readyz") == 204; }));
    store.redis.stop();
    CHECK(wait_until([&] { return status_of(store.nginx, "/readyz") == 503; }));
}

TEST_CASE("health: without a location that needs Redis a host is ready")
{
    NginxOptions options;
    options.file = one_worker("", R"(
        location = /readyz { petstore_health ready; }
        location = /status { petstore_status; })");
    NginxServer nginx(options);
    CHECK(status_of(nginx, "/readyz") == 204);
    CHECK(status_of(nginx, "/status") == 200);
}

TEST_CASE("health: a Redis that only an unused level names does not count")
{
    const RedisServer used;
    const Key key = create_key(used);
    const std::string guarded =
        "location /a/ { petstore_redis " + used.url() + "; root %DIR%; }";
    const std::string any =
        "location / { petstore_redis " + used.url() + "; root %DIR%; }";
    const std::string off = "location / { petstore_guard off; }";
    const std::string monitoring = R"(
        location = /readyz {
            petstore_health ready;
            limit_except GET { deny all; }
        }
        location = /status {
            petstore_status;
            if ($arg_a) { set $b 1; }
        })";
    // Nothing listens where the levels above the locations look for Redis.
    struct Case {
        std::string http, server;
        bool ready;
    };
    const std::string guard = "petstore_guard on;";
    const Case cases[] = {
        {"", guard + any, true},
        {"", guard + guarded + off, true},
        {"", guard + any + "if ($arg_a) { set $b 1; }", true},
        {guard, any, true},
        {guard, guarded + "location ^~ / { return 404; }", true},
        {guard + "server { listen unix:%DIR%/other.sock; return 444; }", any,
         true},
        // These guard what matches no location, or another handler.
        {"", guard + guarded, false},
        {"", guard + guarded + "location = / { petstore_guard off; }", false},
        {guard + "server { listen unix:%DIR%/other.sock; }", any, false},
        {guard, any + "location /b/ { root %DIR%; }", false},
        {guard,
         any + "location /b/ { rewrite ^ /c break; return 404; root %DIR%; }",
         false},
        {guard,
         any + "location /b/ { petstore_status; proxy_pass http://%ADDRESS%:1; }",
         false},
        {guard,
         any
             + "location /b/ { petstore_health live;"
               "if ($arg_a) { proxy_pass http://%ADDRESS%:1; } }",
         false},
    };
    for (const auto& [http, server, ready] : cases) {
        INFO("http: " << http << " server: " << server);
        NginxOptions options;
        options.file =
            one_worker("%TIMEOUTS% petstore_redis redis://%ADDRESS%:1;" + http,
                       monitoring + server);
        const NginxServer nginx(options);
        CHECK(Http(nginx.url(), key.secret).get("/a/none").status == 404);
        CHECK(status_of(nginx, "/readyz") == (ready ? 204 : 503));
        const auto metrics = Http(nginx.url()).get("/status").body;
        CHECK(contains(metrics, "petstore_redis_up{redis=\"" + used.url()));
        CHECK(contains(metrics, ":1/0\"} 0") == !ready);
    }
}

TEST_CASE("health: an unused Redis is not written to")
{
    const RedisServer used;
    const RedisServer unused;
    NginxOptions options;
    options.file = one_worker(
        "petstore_redis " + unused.url() + ";",
        "petstore_guard on; location / { petstore_redis " + used.url()
            + "; root %DIR%; } location = /readyz { petstore_health ready; }");
    const NginxServer nginx(options);
    // One task of a worker publishes in all Redis.
    CHECK(wait_until([&] {
        return used.command({"EXISTS", "petstore:hosts"}).integer == 1;
    }));
    CHECK(unused.command({"DBSIZE"}).integer == 0);
}

TEST_CASE("health: clients that leave while Redis is silent")
{
    auto options = with_health();
    options.http =
        "petstore_redis_connect_timeout 10s; petstore_redis_timeout 20s;";
    Store store(options);
    REQUIRE(status_of(store.nginx, "/readyz") == 204);
    const auto before = store.nginx.sockets_at_rest();
    store.redis.pause();
    // Waits out the second for which the last result is valid.
    std::vector<RawClient> clients;
    REQUIRE(wait_until([&] {
        RawClient client(store.nginx.port());
        client.send("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n");
        if (client.readable(100ms)) {
            return false;
        }
        clients.push_back(std::move(client));
        return true;
    }));
    for (int i = 0; i < 20; ++i) {
        clients.emplace_back(store.nginx.port());
        clients.back().send("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n");
    }
    clients.clear();
    store.redis.resume();
    CHECK(wait_until([&] { return store.nginx.sockets_at_rest() == before; }));
    CHECK(wait_until([&] { return status_of(store.nginx, "/readyz") == 204; }));
}

TEST_CASE("health: a reload and a quit while Redis is silent")
{
    auto options = with_health();
    options.http =
        "petstore_redis_connect_timeout 2s; petstore_redis_timeout 1s;";
    Store store(options);
    REQUIRE(status_of(store.nginx, "/readyz") == 204);
    store.redis.pause();
    RawClient waiting(store.nginx.port());
    waiting.send("GET /readyz HTTP/1.0\r\n\r\n");
    store.nginx.reload();
    CHECK(contains(waiting.read_all(), "HTTP/1.1 "));
    RawClient another(store.nginx.port());
    another.send("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n");
    store.nginx.quit();
    store.redis.resume();
}
