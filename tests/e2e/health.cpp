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
