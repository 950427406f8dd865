// A Redis whose host name nginx's resolver looks up in a DNS server run by the
// test.
#include "chaos/dns_server.h"
#include "support/sentinels.h"
#include "support/store.h"

using namespace petstore::e2e;

namespace {

constexpr const char* kName = "redis.petstore.test";

std::size_t lines_with(const NginxServer& nginx, const std::string& part)
{
    std::size_t count = 0;
    for (const auto& line : split(nginx.error_log(), '\n')) {
        count += contains(line, part) ? 1 : 0;
    }
    return count;
}

struct Named {
    explicit Named(DnsServer::Answer answer = {{own_address()}})
        : dns(std::move(answer))
    {}

    NginxOptions options(
        const std::string& timeouts =
            "petstore_redis_timeout 10s; petstore_redis_connect_timeout 10s;")
        const
    {
        NginxOptions options;
        options.redis = std::string("redis://") + kName + ":"
                        + std::to_string(redis.port());
        options.http = dns.resolver();
        options.location = timeouts;
        options.server = "location /other { return 200 other; }";
        return options;
    }

    RedisServer redis;
    Key key = create_key(redis);
    DnsServer dns;
};

// The next request reconnects.
void cut(const RedisServer& redis)
{
    redis.command({"CLIENT", "KILL", "TYPE", "normal"});
}

}  // namespace

TEST_CASE("host names: a resolver finds the Redis from the first request on")
{
    const Named named;
    NginxServer nginx(named.options());
    Http http(nginx.url(), named.key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(named.dns.queries() >= 1);
    CHECK(lines_with(nginx, "[error]") == 0);
}

TEST_CASE("host names: addresses and sockets need no resolver")
{
    const Named named(DnsServer::Answer{{}, DnsServer::no_such_name});
    auto options = named.options();
    options.redis =
        GENERATE(true, false) ? named.redis.url() : named.redis.tcp_url();
    NginxServer nginx(options);
    Http http(nginx.url(), named.key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    CHECK(named.dns.queries() == 0);
}

TEST_CASE("host names: a name that is unknown at the start may resolve later")
{
    Named named(DnsServer::Answer{{}, DnsServer::no_such_name});
    NginxServer nginx(named.options("petstore_redis_connect_timeout 5s;"));
    Http http(nginx.url(), named.key.secret);
    for (int i = 0; i < 5; ++i) {
        expect_error(http.get("/v1/pets"), 503, "service_unavailable");
    }
    CHECK(lines_with(nginx, std::string(kName)
                                + " could not be resolved (3: Host not found)")
          == 1);
    CHECK(lines_with(nginx, "[error]") == 1);
    named.dns.set({{own_address()}});
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    CHECK(lines_with(nginx, "is back") == 1);
}

TEST_CASE("host names: a worker whose DNS hangs serves everything else")
{
    Named named(DnsServer::Answer{{}, DnsServer::no_error, true});
    NginxServer nginx(named.options(
        "petstore_redis_timeout 3s; petstore_redis_connect_timeout 3s;"));
    RawClient waiting(nginx.port());
    waiting.send("GET /v1/pets HTTP/1.1\r\nHost: h\r\nConnection: close\r\n"
                 "Authorization: Bearer "
                 + named.key.secret + "\r\n\r\n");
    Http http(nginx.url(), named.key.secret);
    int answered = 0;
    while (!waiting.readable(0ms) && answered < 200) {
        CHECK(http.get("/other").status == 200);
        ++answered;
    }
    // All were answered while one request waited.
    CHECK(answered >= 20);
    CHECK(contains(waiting.read_all(), " 503 "));
    CHECK(lines_with(nginx, "[error]") == 1);
    named.dns.set({{own_address()}});
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
}

TEST_CASE("host names: an answer that comes after the timeout is used")
{
    Named named(
        DnsServer::Answer{{own_address()}, DnsServer::no_error, false, 5s});
    NginxServer nginx(named.options(
        "petstore_redis_timeout 200ms; petstore_redis_connect_timeout 300ms;"));
    Http http(nginx.url(), named.key.secret);
    CHECK(http.get("/v1/pets").status == 503);
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    CHECK(lines_with(nginx, "[error]") >= 1);
}

TEST_CASE("host names: a changed address is used when a worker reconnects")
{
    Named named;
    NginxServer nginx(named.options());
    Http http(nginx.url(), named.key.secret);
    CHECK(http.get("/v1/pets").status == 200);

    RedisServer moved;
    named.redis.command({"CONFIG", "SET", "bind", "127.77.0.3"});
    import_key(moved, named.key.secret);
    const std::string port = std::to_string(named.redis.port());
    named.redis.stop();
    REQUIRE(moved.command({"CONFIG", "SET", "bind", "127.77.0.4"}).text
            == "OK");
    REQUIRE(moved.command({"CONFIG", "SET", "port", port}).text == "OK");
    named.dns.set({{"127.77.0.4"}});
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    CHECK(lines_with(nginx, "[error]") <= 1);
}

TEST_CASE("host names: if the DNS fails, the last addresses are used")
{
    Named named;
    NginxServer nginx(named.options());
    Http http(nginx.url(), named.key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    SECTION("an error")
    {
        named.dns.set({{}, DnsServer::server_failure});
    }
    SECTION("silence")
    {
        named.dns.set({{}, DnsServer::no_error, true});
    }
    for (int i = 0; i < 2; ++i) {
        const int queries = named.dns.queries();
        const auto asks = [&] {
            cut(named.redis);
            return http.get("/v1/pets").status == 200
                   && named.dns.queries() > queries;
        };
        CHECK(wait_until(asks));
    }
    CHECK(lines_with(nginx, "could not be resolved") == 0);
}

TEST_CASE("host names: if the name is gone, so are its addresses")
{
    Named named;
    NginxServer nginx(named.options());
    Http http(nginx.url(), named.key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    named.dns.set({{}, DnsServer::no_such_name});
    CHECK(wait_until([&] {
        cut(named.redis);
        return http.get("/v1/pets").status == 503;
    }));
    CHECK(lines_with(nginx, "Host not found") == 1);
    named.dns.set({{own_address()}});
    CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
}

TEST_CASE("host names: the primary's address is used if there are several")
{
    Named named(DnsServer::Answer{{"127.77.0.9", own_address(), "127.77.0.1"}});
    NginxServer nginx(named.options());
    Http http(nginx.url(), named.key.secret);
    for (int i = 0; i < 5; ++i) {
        CHECK(http.get("/v1/pets").status == 200);
        cut(named.redis);
    }
    CHECK(lines_with(nginx, "[error]") == 0);
}

TEST_CASE("host names: petstorectl uses the address that works")
{
    const RedisServer redis;
    const std::string nobody = "127.255.0.1";
    for (const auto& addresses :
         {std::vector<std::string>{nobody, own_address()},
          std::vector<std::string>{own_address(), nobody}}) {
        const auto result = run({ctl_binary(), "--redis",
                                 std::string("redis://") + kName + ":"
                                     + std::to_string(redis.port()),
                                 "key", "list"},
                                "", host_with_addresses(kName, addresses));
        INFO(result.err);
        CHECK(result.code == 0);
    }
}

TEST_CASE("host names: a worker that resolves a name ends soon")
{
    // What it asks Redis by itself times out; the resolver does so much later.
    Named named(DnsServer::Answer{{}, DnsServer::no_error, true});
    auto options = named.options(
        "petstore_redis_timeout 500ms; petstore_redis_connect_timeout 250ms;");
    options.http += " resolver_timeout 10m;";
    NginxServer nginx(options);
    REQUIRE(wait_until([&] { return named.dns.queries() > 0; }));
    const auto before = Clock::now();
    SECTION("quit")
    {
        nginx.quit();
    }
    SECTION("reload")
    {
        nginx.reload_and_settle();
    }
    CHECK(Clock::now() - before < 60s);
}

TEST_CASE("host names: Sentinels and servers may have them")
{
    RedisServer redis;
    const auto key = create_key(redis);
    DnsServer dns({{own_address()}});
    FakeRedis sentinel(
        [&](const Words& command) -> FakeRedis::Answer {
            if (command[0] == "SENTINEL") {
                const std::string host = kName;
                const auto port = std::to_string(redis.port());
                return {"*2\r\n$" + std::to_string(host.size()) + "\r\n" + host
                        + "\r\n$" + std::to_string(port.size()) + "\r\n" + port
                        + "\r\n"};
            }
            if (command[0] == "SUBSCRIBE") {
                return {"*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n"
                        ":1\r\n"};
            }
            return {command[0] == "PING" ? "*2\r\n$4\r\npong\r\n$0\r\n\r\n"
                                         : "+OK\r\n"};
        },
        FakeRedis::Socket::tcp);
    NginxOptions options;
    const auto port = sentinel.address().substr(sentinel.address().find(':'));
    options.redis = "sentinel=main redis://sentinel.petstore.test" + port;
    options.http = dns.resolver();
    options.location =
        "petstore_redis_timeout 10s; petstore_redis_connect_timeout 10s;";
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    CHECK(http.get("/v1/pets").status == 200);
    for (int i = 0; i < 3; ++i) {
        cut(redis);
        CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    }
    CHECK(lines_with(nginx, "[error]") == 0);
}
