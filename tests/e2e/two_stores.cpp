// Two stores, each with a main Redis, that were given one limit Redis.
#include "support/two_redis.h"

using namespace petstore::e2e;

namespace {

constexpr char kForeign[] = "has the limits of another store";

std::size_t lines_with(const NginxServer& nginx, const std::string& part)
{
    std::size_t count = 0;
    for (const auto& line : split(nginx.error_log(), '\n')) {
        count += contains(line, part) ? 1 : 0;
    }
    return count;
}

std::string value_of(const RedisServer& redis)
{
    return redis.command({"GET", kLimitsMarker}).text;
}

}  // namespace

TEST_CASE("two stores: petstorectl refuses the limit Redis of another store")
{
    const TwoRedis first;
    const auto key = first.limited_key(10);
    NginxServer nginx(first.with());
    Http http(nginx.url(), key.secret);
    REQUIRE(http.get("/v1/pets").status == 200);
    const auto marker = value_of(first.limits);

    RedisServer main;
    const auto second = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(),
                         {"--limit-redis", first.limits.url()});
        return ctl(main.url(), arguments);
    };
    // A new store, and one that has keys.
    check_fails(second({"key", "create"}), kForeign);
    CHECK(main.command({"DBSIZE"}).integer == 0);
    const auto other = create_key(main);
    check_fails(second({"limits", "move"}), kForeign);
    check_fails(second({"limits", "move"}), "delete petstore:limits-place");
    check_fails(second({"limits", "move", "--emptied"}), kForeign);
    CHECK(second({"limits", "return"}).code == 0);  // nothing to return
    // It has the limits of a third store.
    const RedisServer third;
    REQUIRE(
        ctl(main.url(), {"--limit-redis", third.url(), "limits", "move"}).code
        == 0);
    check_fails(second({"limits", "move"}), kForeign);
    check_fails(second({"limits", "return"}), kForeign);
    check_fails(second({"key", "disable", other.id}), kForeign);
    CHECK(value_of(first.limits) == marker);
    CHECK(first.limits.command({"EXISTS", account_key(key, "state")}).integer
          == 1);
    CHECK(http.get("/v1/pets").status == 200);

    // What the first one leaves does not stop the other, but then the first.
    REQUIRE(
        ctl(main.url(), {"--limit-redis", third.url(), "limits", "return"}).code
        == 0);
    REQUIRE(first.ctl({"limits", "return"}).code == 0);
    CHECK(second({"limits", "move"}).code == 0);
    CHECK(value_of(first.limits) != marker);
    check_fails(first.ctl({"limits", "move"}), kForeign);
    CHECK(first.main.command({"EXISTS", account_key(key, "state")}).integer
          == 1);

    // The main Redis of the second one was lost: the message says what to do.
    main.command({"FLUSHALL"});
    check_fails(second({"key", "create"}), kForeign);
    first.limits.command({"DEL", kLimitsMarker});
    CHECK(second({"key", "create"}).code == 0);
}

TEST_CASE("two stores: an interrupted choice of the limit Redis is completed")
{
    const TwoRedis redis;
    SECTION("before the main Redis was marked")
    {
        redis.limits.command({"SET", kLimitsMarker, "elsewhere abc"});
    }
    SECTION("before the limit Redis was")
    {
        redis.limits.command({"SET", kLimitsMarker, "elsewhere abc"});
        redis.main.command({"SET", kLimitsMarker, "elsewhere abc"});
        check_fails(redis.ctl({"key", "create"}), "limits move");
        REQUIRE(redis.ctl({"limits", "move"}).code == 0);
    }
    const auto key = redis.create_key();
    CHECK(limits_marker(redis.main) == "elsewhere");
    CHECK(limits_marker(redis.limits) == "here");
    NginxServer nginx(redis.with());
    CHECK(Http(nginx.url(), key.secret).get("/v1/pets").status == 200);
}

TEST_CASE("two stores: workers refuse the limit Redis of another store")
{
    const TwoRedis first;
    const auto key = first.create_key();
    const TwoRedis second;
    const auto other = second.create_key();
    NginxServer good(first.with());
    NginxOptions options;
    options.redis = second.main.url();
    options.http += "petstore_limit_redis " + first.limits.url() + ";";
    options.server = "location = /readyz { petstore_health ready; }";
    options.workers = 2;
    NginxServer wrong(options);

    int refused = 0;
    int served = 0;
    for (int i = 0; i < 50; ++i) {
        refused += Http(wrong.url(), other.secret).get("/v1/pets").status == 503
                       ? 1
                       : 0;
        served +=
            Http(good.url(), key.secret).get("/v1/pets").status == 200 ? 1 : 0;
    }
    CHECK(refused == 50);
    CHECK(served == 50);
    CHECK(Http(wrong.url()).get("/readyz").status == 503);
    CHECK(first.limits.command({"EXISTS", account_key(other, "state")}).integer
          == 0);
    // One line for each worker that has served requests.
    CHECK(lines_with(wrong, kForeign) >= 1);
    CHECK(lines_with(wrong, kForeign) <= 2);
    CHECK(lines_with(good, "[error]") == 0);

    // Without an id on one side there is nothing to compare.
    second.main.command({"DEL", kLimitsMarker});
    CHECK(wait_until([&] {
        return Http(wrong.url(), other.secret).get("/v1/pets").status == 200
               && Http(wrong.url()).get("/readyz").status == 204;
    }));
}

TEST_CASE("two stores: the ids are compared again over each new connection")
{
    const std::vector<std::string> config = {"enable-debug-command local"};
    TwoRedisStore store({}, config);
    REQUIRE(store.http.get("/shop/").status == 200);
    Monitor monitor(store.redis.limits);
    for (int i = 0; i < 5; ++i) {
        CHECK(store.http.get("/shop/").status == 200);
    }
    // Nothing more is read over the same connection.
    for (const auto& name : monitor.names()) {
        CHECK(name != "GET");
    }
    store.redis.limits.command({"SET", kLimitsMarker, "here other-store"});
    const auto state = account_key(store.key, "state");
    const auto before = store.redis.limits.command({"GET", state}).text;
    SECTION("another connection")
    {
        store.redis.limits.command({"CLIENT", "KILL", "TYPE", "normal"});
        CHECK(
            wait_until([&] { return store.http.get("/shop/").status == 503; }));
        CHECK(store.redis.limits.command({"GET", state}).text == before);
    }
    SECTION("another replication history")
    {
        store.redis.limits.command({"DEBUG", "CHANGE-REPL-ID"});
        CHECK(kept_by(Clock::now() + 1500ms,
                      [&] { return store.http.get("/shop/").status == 503; }));
    }
    CHECK(lines_with(store.nginx, kForeign) == 1);
    CHECK(store.http.get("/shop/").status == 503);

    store.redis.limits.command(
        {"SET", kLimitsMarker,
         "here " + value_of(store.redis.main).substr(10)});
    CHECK(wait_until([&] { return store.http.get("/shop/").status == 200; }));
    CHECK(lines_with(store.nginx, "has the limits of this store again") == 1);
}

TEST_CASE("two stores: without the right to read the marker, one warning")
{
    const TwoRedis redis;
    const auto key = redis.create_key();
    redis.main.command({"ACL", "SETUSER", "worker", "on", ">pw", "+@all",
                        "~petstore:{petstore:pets}:*", "%R~petstore:key:*",
                        "%R~petstore:account:*", "%R~petstore:plans",
                        "~petstore:hosts"});
    NginxOptions options = redis.with();
    options.redis = "redis://worker:pw@" + redis.main.address();
    NginxServer nginx(options);
    Http http(nginx.url(), key.secret);
    for (int i = 0; i < 3; ++i) {
        CHECK(http.get("/v1/pets").status == 200);
        redis.main.command({"CLIENT", "KILL", "USER", "worker"});
        redis.limits.command({"CLIENT", "KILL", "TYPE", "normal"});
        CHECK(wait_until([&] { return http.get("/v1/pets").status == 200; }));
    }
    CHECK(lines_with(nginx, "[warn]") == 1);
    CHECK(lines_with(nginx, "NOPERM") == 1);
}
