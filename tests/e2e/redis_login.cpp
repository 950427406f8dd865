// Ways to connect to Redis and to authenticate.
#include "support/store.h"

using namespace petstore::e2e;

namespace {

// Creates keys and pets over `url`, then requests them through nginx.
void expect_works(const std::string& url, NginxOptions options,
                  const RedisServer& redis)
{
    INFO(url);
    const auto made =
        ctl(url, {"key", "create", "--plan", "business", "--json"});
    INFO(made.err);
    REQUIRE(made.code == 0);
    const std::string secret = nlohmann::json::parse(made.out).at("key");
    remember_secret(secret);
    if (options.redis.empty()) {
        options.redis = url;
    }
    NginxServer nginx(options);
    Http http(nginx.url(), secret);
    CHECK(http.get("/v1/pets?status=sold").body == "[]");
    CHECK(http.post("/v1/pets", "{\"name\":\"n\",\"categoryId\":1}").status
          == 201);
    CHECK(http.get("/v1/pets").json().size() == 1);
    redis.command({"FLUSHALL"});
}

}  // namespace

TEST_CASE("redis: by unix socket by address by name and by IPv6")
{
    RedisServer redis({"bind " + own_address() + " 127.0.0.1 -::1"});
    expect_works(redis.url(), {}, redis);
    expect_works(redis.tcp_url(), {}, redis);
    const auto port = std::to_string(redis.port());
    expect_works("redis://localhost:" + port, {}, redis);
    expect_works("redis://localhost:" + port + "/0", {}, redis);
    if (contains(read_file("/proc/net/if_inet6"), " lo")) {
        expect_works("redis://[::1]:" + port, {}, redis);
    }
}

TEST_CASE("redis: with a password from the URL or a file")
{
    RedisServer redis({"requirepass s3cret-p%word"});
    const auto url = "redis://:s3cret-p%25word@" + redis.address();
    expect_works(url, {}, redis);
    expect_works("redis://default:s3cret-p%25word@" + redis.address() + "/3",
                 {}, redis);

    TempDir dir;
    write_file(dir / "password", "s3cret-p%word\n");
    NginxOptions options;
    options.redis = redis.tcp_url();
    options.http = "petstore_redis_password_file " + (dir / "password") + ";";
    expect_works(url, options, redis);
    options.redis = redis.url();
    expect_works(url, options, redis);
}

TEST_CASE("redis: directives give credentials where a URL has none")
{
    RedisServer redis({"requirepass s3cret-word"});
    TempDir dir;
    write_file(dir / "wrong", "wrong-word\n");
    NginxOptions options;
    options.redis = "redis://default:s3cret-word@" + redis.address();
    options.http = "petstore_redis_user nobody; petstore_redis_password_file "
                   + (dir / "wrong") + ";";
    expect_works(options.redis, options, redis);
    // The user of a password alone is "default".
    options.redis = "redis://:s3cret-word@" + redis.address();
    expect_works(options.redis, options, redis);
}

TEST_CASE("redis: as an ACL user")
{
    RedisServer redis;
    redis.command({"ACL", "SETUSER", "petstore", "on", ">pw", "~petstore:*",
                   "+@all", "-@dangerous", "+info", "+keys"});
    redis.command({"ACL", "SETUSER", "default", "off"});
    // From now on the harness has to authenticate, too.
    const auto url = "redis://petstore:pw@" + redis.address();
    const auto made =
        ctl(url, {"key", "create", "--plan", "business", "--json"});
    INFO(made.err);
    REQUIRE(made.code == 0);
    const std::string secret = nlohmann::json::parse(made.out).at("key");
    remember_secret(secret);

    TempDir dir;
    write_file(dir / "password", "pw");
    NginxOptions by_url;
    by_url.redis = url;
    NginxOptions by_file;
    by_file.redis = redis.url();
    by_file.http = "petstore_redis_user petstore; petstore_redis_password_file "
                   + (dir / "password") + ";";
    int pets = 0;
    for (const auto& options : {by_url, by_file}) {
        NginxServer nginx(options);
        Http http(nginx.url(), secret);
        CHECK(http.post("/v1/pets", "{\"name\":\"n\",\"categoryId\":1}").status
              == 201);
        CHECK(http.get("/v1/pets?status=available").json().size()
              == static_cast<std::size_t>(++pets));
    }
}

TEST_CASE("redis: a wrong password is 503 and logged without the password")
{
    RedisServer redis({"requirepass right"});
    const auto made =
        ctl("redis://:right@" + redis.address(), {"key", "create", "--json"});
    REQUIRE(made.code == 0);
    const std::string secret = nlohmann::json::parse(made.out).at("key");
    remember_secret(secret);
    remember_secret("wrong-password");
    for (const std::string& url :
         {"redis://:wrong-password@" + redis.address(), redis.url()}) {
        NginxOptions options;
        options.redis = url;
        NginxServer nginx(options);
        Http http(nginx.url(), secret);
        for (int i = 0; i < 5; ++i) {
            expect_error(http.get("/v1/pets"), 503, "service_unavailable");
        }
        CHECK(contains(nginx.error_log(), "[error]"));
    }
}

TEST_CASE("redis: databases are separate")
{
    RedisServer redis;
    const auto tcp = redis.tcp_url();
    expect_works(tcp + "/5", {}, redis);
    expect_works(redis.url() + "?db=7", {}, redis);

    // Created in database 5, so missing in database 0.
    const auto made = ctl(tcp + "/5", {"key", "create", "--json"});
    const std::string secret = nlohmann::json::parse(made.out).at("key");
    remember_secret(secret);
    NginxOptions options;
    options.redis = tcp;
    NginxServer nginx(options);
    CHECK(Http(nginx.url(), secret).get("/v1/pets").status == 401);
    CHECK(redis.command({"KEYS", "petstore:key*"}).items.empty());
    redis.command({"FLUSHALL"});

    // A database that does not exist is an operator's mistake, not a crash.
    options.redis = tcp + "/99";
    NginxServer missing(options);
    expect_error(Http(missing.url(), secret).get("/v1/pets"), 503,
                 "service_unavailable");
}

TEST_CASE("redis: two stores in one nginx")
{
    RedisServer first;
    RedisServer second;
    const auto key = create_key(first);
    const auto other = create_key(second);
    NginxOptions options;
    options.redis = first.url();
    options.servers =
        "server { listen %ADDRESS%:%TLS_PORT%; location /v1/ { petstore; petstore_redis "
        + second.url() + "; } }";
    NginxServer nginx(options);
    Http one(nginx.url(), key.secret);
    Http two(http_url(nginx.tls_port()), other.secret);
    CHECK(one.post("/v1/pets", "{\"name\":\"first\",\"categoryId\":1}").status
          == 201);
    CHECK(two.get("/v1/pets").body == "[]");
    CHECK(two.post("/v1/pets", "{\"name\":\"second\",\"categoryId\":2}").body
          == pet_json(1, "second", "2", "available"));
    CHECK(Http(nginx.url(), other.secret).get("/v1/pets").status == 401);
    first.stop();
    CHECK(one.get("/v1/pets").status == 503);
    CHECK(two.get("/v1/pets").status == 200);
}
