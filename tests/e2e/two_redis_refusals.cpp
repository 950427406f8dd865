// Moves of limits, and choices of a limit Redis, that are refused.
#include "support/two_redis.h"

using namespace petstore::e2e;

namespace {

std::string usage_key(const RedisServer& redis, const Key& key)
{
    return account_key(key, "usage:" + month_text(redis_now(redis)));
}

}  // namespace

TEST_CASE("two redis: a move that may not write usage loses none")
{
    TwoRedis redis;
    const auto key = create_key(redis.main);
    const auto usage = usage_key(redis.main, key);
    redis.main.command({"HSET", usage, "01", "70"});
    redis.main.command({"SET", account_key(key, "bans"), "2", "EX", "80000"});

    redis.limits.command({"ACL", "SETUSER", "default", "-hset"});
    for (int attempt = 0; attempt < 2; ++attempt) {
        CHECK(redis.ctl({"limits", "move"}).code != 0);
        CHECK(redis.main.command({"HGET", usage, "01"}).text == "70");
        CHECK(
            redis.limits.command({"EXISTS", account_key(key, "state")}).integer
            == 0);
    }
    redis.limits.command({"ACL", "SETUSER", "default", "+hset"});

    const std::string direction = GENERATE("move", "return");
    REQUIRE(redis.ctl({"limits", direction}).code == 0);
    const auto& there = direction == "move" ? redis.limits : redis.main;
    const auto& gone = direction == "move" ? redis.main : redis.limits;
    CHECK(there.command({"HGET", usage, "01"}).text == "70");
    CHECK(used(there, key, "bans") == 2);
    CHECK(there.command({"EXISTS", account_key(key, "state")}).integer == 1);
    CHECK(gone.command({"KEYS", "*:usage:*"}).items.empty());
    CHECK(gone.command({"KEYS", "*:state"}).items.empty());
}

TEST_CASE("two redis: a store with accounts does not change its limits' place")
{
    TwoRedis redis;
    SECTION("without keys")
    {
        REQUIRE(ctl(redis.main.url(), {"account", "create"}).code == 0);
    }
    SECTION("all of them deleted")
    {
        const auto key = create_key(redis.main);
        REQUIRE(ctl(redis.main.url(), {"key", "delete", key.id}).code == 0);
    }
    for (const std::vector<std::string>& change :
         {std::vector<std::string>{"key", "create"},
          {"account", "create"},
          {"plan", "set", "gold", "--per-minute", "1", "--per-day", "1"}}) {
        check_fails(redis.ctl(change), "petstorectl limits move");
    }
    CHECK(limits_marker(redis.main).empty());
    CHECK(redis.limits.command({"DBSIZE"}).integer == 0);
    REQUIRE(redis.ctl({"limits", "move"}).code == 0);
    CHECK(redis.ctl({"account", "create"}).code == 0);
}

TEST_CASE("two redis: a move names a Redis key of another type")
{
    TwoRedis redis;
    const auto key = create_key(redis.main);
    const auto damage = [](const RedisServer& on, const std::string& name) {
        on.command({"DEL", name});
        on.command({"RPUSH", name, "x"});
    };
    const auto state = account_key(key, "state");
    const auto usage = usage_key(redis.main, key);
    redis.main.command({"HSET", usage, "01", "70"});

    SECTION("at the source: nothing of the account has moved")
    {
        damage(redis.main, usage);
        check_fails(redis.ctl({"limits", "move"}),
                    "the Redis key " + usage + " is damaged");
        CHECK(redis.main.command({"EXISTS", state}).integer == 1);
        redis.main.command({"DEL", usage});
        redis.main.command({"HSET", usage, "01", "70"});
    }
    SECTION("a state")
    {
        damage(redis.main, state);
        check_fails(redis.ctl({"limits", "move"}),
                    "the Redis key " + state + " is damaged");
        redis.main.command({"DEL", state});
    }
    SECTION("at the destination")
    {
        damage(redis.limits, usage);
        check_fails(redis.ctl({"limits", "move"}),
                    "the Redis key " + usage + " is damaged");
        CHECK(redis.limits.command({"EXISTS", state}).integer == 0);
        redis.limits.command({"DEL", usage});
    }
    SECTION("strikes and bans count as none")
    {
        damage(redis.main, account_key(key, "strikes"));
        damage(redis.main, account_key(key, "bans"));
    }
    REQUIRE(redis.ctl({"limits", "move"}).code == 0);
    CHECK(redis.limits.command({"HGET", usage, "01"}).text == "70");
    CHECK(redis.main.command({"KEYS", "petstore:{????????????????}:*"})
              .items.empty());
    for (const char* name : {"strikes", "bans"}) {
        CHECK(redis.limits.command({"EXISTS", account_key(key, name)}).integer
              == 0);
    }
}

TEST_CASE("two redis: a move does not overwrite what the limit Redis counted")
{
    TwoRedis redis;
    const auto key = create_key(redis.main);
    redis.charge_main(key);
    // A host that was reloaded before the limits were moved.
    {
        NginxServer early(redis.with());
        Http http(early.url(), key.secret);
        CHECK(http.get("/v1/pets").status == 200);
        CHECK(http.get("/v1/pets").status == 200);
    }
    for (const std::vector<std::string>& move :
         {std::vector<std::string>{"limits", "move"},
          {"limits", "move", "--emptied"}}) {
        const auto refused = redis.ctl(move);
        check_fails(refused, "has counts of 1 account already");
        check_fails(refused, "docs/two-redis.md");
    }
    CHECK(limits_marker(redis.main).empty());
    CHECK(limits_marker(redis.limits).empty());
    CHECK(used(redis.main, key, "day") == 1);
    CHECK(used(redis.limits, key, "day") == 2);

    // As that page says.
    for (const auto& name :
         redis.limits.command({"KEYS", "petstore:{*}:*"}).items) {
        redis.limits.command({"DEL", name.text});
    }
    REQUIRE(redis.ctl({"limits", "move"}).code == 0);
    CHECK(used(redis.limits, key, "day") == 1);
    // An emptied limit Redis counts until the loss is confirmed.
    redis.limits.command({"FLUSHALL"});
    NginxServer nginx(redis.with());
    CHECK(Http(nginx.url(), key.secret).get("/v1/pets").status == 200);
    REQUIRE(redis.ctl({"limits", "move", "--emptied"}).code == 0);
    CHECK(used(redis.limits, key, "day") == 1);
}
