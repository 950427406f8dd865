// petstorectl key export and key restore, where data are damaged or missing.
#include "support/limits.h"
#include "support/terminal.h"

using namespace petstore::e2e;
using nlohmann::json;

namespace {

std::string account_record(const std::string& account)
{
    return "petstore:account:" + account;
}

}  // namespace

TEST_CASE("command line backup: an export reports damaged plans")
{
    RedisServer redis;
    const auto key = create_key(redis);
    for (const char* name : {"gold", "silver"}) {
        REQUIRE(ctl(redis.url(), {"plan", "set", name, "--per-minute", "5",
                                  "--per-day", "50"})
                    .code
                == 0);
    }
    REQUIRE(ctl(redis.url(), {"key", "export"}).code == 0);
    std::string problem;
    SECTION("one")
    {
        redis.command({"HSET", "petstore:plans", "gold", "many"});
        problem = "plan gold is damaged and not exported, 1 plan in total";
    }
    SECTION("all")
    {
        redis.command({"DEL", "petstore:plans"});
        redis.command({"SET", "petstore:plans", "x"});
        problem = "the plans in Redis are damaged and not exported";
    }
    const auto backup = ctl(redis.url(), {"key", "export"});
    CHECK(backup.code == 1);
    CHECK(contains(backup.out, key.id));
    CHECK(contains(backup.err, problem));
}

TEST_CASE("command line backup: an export finds the accounts of all keys")
{
    RedisServer redis;
    const auto key = create_key(redis, {"--plan", "pro"});
    const auto whole = ctl(redis.url(), {"key", "export"});
    REQUIRE(whole.code == 0);

    SECTION("one that the index lacks is complete")
    {
        redis.command({"DEL", "petstore:accounts"});
        const auto backup = ctl(redis.url(), {"key", "export"});
        CHECK(backup.code == 0);
        CHECK(backup.out == whole.out);
    }
    SECTION("one that the index lacks is damaged")
    {
        redis.command({"DEL", "petstore:accounts"});
        redis.command(
            {"HSET", account_record(key.account), "disabled", "maybe"});
        const auto backup = ctl(redis.url(), {"key", "export"});
        CHECK(backup.code == 1);
        CHECK(contains(backup.out, key.id));
        CHECK(contains(backup.err, "account " + key.account
                                       + " is damaged and not exported, 1 "
                                         "account in total"));
    }
    SECTION("one does not exist, and something else is damaged")
    {
        redis.command({"DEL", account_record(key.account)});
        redis.command({"HSET", "petstore:keys", "other", "zz"});
        const auto backup = ctl(redis.url(), {"key", "export"});
        CHECK(backup.code == 1);
        CHECK(contains(backup.out, key.id));
        CHECK(contains(backup.err,
                       "key other is damaged and not exported, 1 key in "
                       "total; account "
                           + key.account
                           + ", which has keys, does not exist, 1 account in "
                             "total"));
    }
}
