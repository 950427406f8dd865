// Workers that need Redis connect when they start; others do not connect.
#include "chaos/fault_proxy.h"
#include "support/limits.h"
#include "support/one_worker.h"

using namespace petstore::e2e;

namespace {

// A Redis that counts connections: each costs PING and INFO.
struct Counted {
    RedisServer redis;
    Key key = create_key(redis);
    FakeRedis fake{forward_to(redis)};

    NginxOptions options(int workers) const
    {
        NginxOptions options;
        options.redis = fake.url();
        options.workers = workers;
        return options;
    }
};

std::size_t lines_with(const NginxServer& nginx, const std::string& text)
{
    return count_of(nginx.error_log(), text);
}

}  // namespace

TEST_CASE("worker start: every worker connects before the first request")
{
    Counted redis;
    NginxServer nginx(redis.options(2));
    CHECK(wait_until([&] { return redis.fake.connections() == 2; }));

    for (int i = 0; i < 32; ++i) {
        CHECK(Http(nginx.url(), redis.key.secret).get("/v1/pets").status
              == 200);
    }
    CHECK(redis.fake.connections() == 2);
    nginx.reload_and_settle();
    CHECK(wait_until([&] { return redis.fake.connections() == 4; }));
    CHECK(wait_until([&] { return redis.fake.open() == 2; }));
    nginx.quit();
    CHECK(redis.fake.connections() == 4);
}

TEST_CASE("worker start: workers connect only to a Redis in use")
{
    Counted redis;
    FakeRedis unused(forward_to(redis.redis));
    auto options = redis.options(1);
    SECTION("no location needs Redis")
    {
        options.file = one_worker(
            "petstore_redis %REDIS%; petstore_json_errors on;",
            "location / { default_type text/plain; return 200 plain; }");
        {
            NginxServer nginx(options);
            CHECK(Http(nginx.url()).get("/").body == "plain");
        }
        CHECK(redis.fake.connections() == 0);
    }
    SECTION("a guarded location, beside one that is not")
    {
        options.redis = unused.url();
        options.location = "petstore_redis " + redis.fake.url() + ";";
        options.server =
            "location /plain { petstore_redis " + unused.url()
            + "; return 200; }\n"
              "location /guarded { petstore_guard on; petstore_redis "
            + redis.fake.url() + "; root html; }";
        {
            NginxServer nginx(options);
            CHECK(wait_until([&] { return redis.fake.commands() >= 2; }));
            CHECK(Http(nginx.url()).get("/plain").status == 200);
        }
        CHECK(redis.fake.connections() == 1);
    }
    CHECK(unused.connections() == 0);
}

TEST_CASE("worker start: helper processes do not connect")
{
    Counted redis;
    auto options = redis.options(1);
    options.file = one_worker(
        "petstore_redis %REDIS%; proxy_cache_path cache keys_zone=cache:1m;",
        "location /v1/ { petstore; }");
    options.workers = 3;  // with the cache manager and the cache loader
    {
        NginxServer nginx(options);
        CHECK(wait_until([&] { return redis.fake.commands() >= 2; }));
        CHECK(Http(nginx.url(), redis.key.secret).get("/v1/pets").status
              == 200);
    }
    CHECK(redis.fake.connections() == 1);
}

TEST_CASE("worker start: a single process connects, too")
{
    Counted redis;
    auto options = redis.options(0);
    options.main = "master_process off;";
    NginxServer nginx(options);
    Http http(nginx.url(), redis.key.secret);
    CHECK(http.request("OPTIONS", "/v1/pets").status == 204);
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(redis.fake.connections() == 1);
}

TEST_CASE(
    "worker start: a Redis that is away is logged once and found when it returns")
{
    RedisServer redis;
    const auto key = create_key(redis);
    redis.stop();
    std::string label;
    NginxOptions options;
    options.workers = 2;
    options.server = "location = /status { petstore_status; }";
    SECTION("unix socket")
    {
        options.redis = redis.url();
        label = redis.url();
    }
    SECTION("TCP")
    {
        options.redis = redis.tcp_url();
        label = redis.tcp_url() + "/0";
    }
    NginxServer nginx(options);
    CHECK(wait_until([&] { return lines_with(nginx, "[error]") == 2; }));
    for (int i = 0; i < 20; ++i) {
        expect_error(Http(nginx.url(), key.secret).get("/v1/pets"), 503,
                     "service_unavailable");
    }
    CHECK(lines_with(nginx, "[error]") == 2);
    CHECK(lines_with(nginx, "[warn]") == 0);

    redis.start();
    // Both workers have connected without a request for pets.
    const auto up = "petstore_redis_up{redis=\"" + label + "\"} 1\n";
    CHECK(wait_until(
        [&] { return contains(Http(nginx.url()).get("/status").body, up); }));
    for (int i = 0; i < 20; ++i) {
        CHECK(Http(nginx.url(), key.secret).get("/v1/pets").status == 200);
    }
    CHECK(lines_with(nginx, "[error]") == 2);
}

TEST_CASE("worker start: a Redis that does not answer delays no exit")
{
    RedisServer redis;
    FaultProxy proxy(redis);
    NetworkFault silent;
    silent.half_open = true;
    proxy.set(silent);
    NginxOptions options;
    options.workers = 2;
    options.redis = proxy.url();
    options.location = "petstore_redis_connect_timeout 100s;";
    NginxServer nginx(options);
    CHECK(wait_until([&] { return proxy.swallowed() > 0; }));
    CHECK(wait_until([&] { return proxy.open() == 2; }));
    const auto start = Clock::now();
    nginx.reload_and_settle();
    CHECK(wait_until([&] { return proxy.connections() == 4; }));
    nginx.quit();
    CHECK(Clock::now() - start < 60s);
    // Of the worker that could not publish the host's plans, before the reload
    // and after it.
    CHECK(lines_with(nginx, "[error]") <= 2);
}
