// Tests the scripts that change key records, in a real Redis.
#include <array>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "as_text.h"
#include "catch.h"
#include "e2e/support/redis_server.h"
#include "store/accounts/account_state.h"
#include "store/keys/key_commands.h"
#include "store/scripts.h"

using namespace petstore;
using e2e::RedisServer;
using e2e::Value;

namespace {

const store::Schema kSchema("petstore");
const store::KeyCommands kCommands(kSchema);
const std::string kState = kSchema.account_state("a1");

Value send(const RedisServer& redis, const redis::Command& call)
{
    const auto command = as_text(call);
    const auto argv = command.argv();
    return redis.command({argv.begin(), argv.end()});
}

store::StoredKey some_key()
{
    store::StoredKey key;
    key.digest.fill(0x11);
    key.record.id = "k1";
    key.record.account = "a1";
    return key;
}

std::string field(const RedisServer& redis, const store::StoredKey& key,
                  const char* name)
{
    return redis.command({"HGET", kSchema.key_record(key.digest), name}).text;
}

std::int64_t micros(const RedisServer& redis)
{
    const auto time = redis.command({"TIME"});
    return std::stoll(time.items.at(0).text) * 1'000'000
           + std::stoll(time.items.at(1).text);
}

// `before`: the state's epoch before the record was written, as epoch_bytes()
// gives it; empty for a record of the same server.
std::int64_t touch(const RedisServer& redis, const std::string& written = "",
                   const std::string& before = "")
{
    redis::Command command(store::scripts().touch_account, 1);
    command.key(kState).arg(written).arg("").arg(before);
    return send(redis, command).integer;
}

std::string epoch_bytes(const RedisServer& redis)
{
    return redis.command({"GETRANGE", kState, "0", "7"}).text;
}

std::int64_t epoch_of_state(const RedisServer& redis)
{
    const auto state =
        store::AccountState::decode(redis.command({"GET", kState}).text);
    REQUIRE(state);
    return state->epoch;
}

}  // namespace

TEST_CASE("key scripts: a record is written once per epoch that was read")
{
    RedisServer redis;
    auto key = some_key();
    const auto before = micros(redis);
    const auto first = send(redis, kCommands.write(key, std::nullopt)).integer;
    CHECK(first >= before);
    CHECK(first <= micros(redis));
    CHECK(field(redis, key, "epoch") == std::to_string(first));

    // The record exists now.
    CHECK(send(redis, kCommands.write(key, std::nullopt)).integer == 0);
    CHECK(send(redis, kCommands.write(key, first - 1)).integer == 0);
    key.record.label = "new";
    const auto second = send(redis, kCommands.write(key, first)).integer;
    CHECK(second > first);
    CHECK(field(redis, key, "label") == "new");
    // Another writer had read the same epoch.
    key.record.label = "late";
    CHECK(send(redis, kCommands.write(key, first)).integer == 0);
    CHECK(field(redis, key, "label") == "new");

    // An empty value removes the field.
    key.record.label.clear();
    CHECK(send(redis, kCommands.write(key, second)).integer > second);
    CHECK(redis.command({"HEXISTS", kSchema.key_record(key.digest), "label"})
              .integer
          == 0);
}

TEST_CASE(
    "key scripts: the epoch of a record grows even if the clock is behind")
{
    RedisServer redis;
    const auto key = some_key();
    const std::int64_t ahead = micros(redis) + 3'600'000'000;
    redis.command({"HSET", kSchema.key_record(key.digest), "id", "k1",
                   "account", "a1", "epoch", std::to_string(ahead), "colour",
                   "red"});
    CHECK(send(redis, kCommands.write(key, ahead)).integer == ahead + 1);
    // Fields of a later version are kept.
    CHECK(field(redis, key, "colour") == "red");

    // A record without an epoch, as written by hand.
    redis.command({"HDEL", kSchema.key_record(key.digest), "epoch"});
    CHECK(send(redis, kCommands.write(key, 0)).integer > 0);
}

TEST_CASE("key scripts: a state takes the epoch of another server's record "
          "only if it has not changed")
{
    RedisServer redis;
    touch(redis);
    // By a clock that is ahead.
    const auto written = std::to_string(micros(redis) + 5'000'000);
    const auto before = epoch_bytes(redis);
    SECTION("since the record was written")
    {
        CHECK(std::to_string(touch(redis, written, before)) == written);
    }
    SECTION("by another change")
    {
        const auto other = touch(redis);
        const auto now = touch(redis, written, before);
        CHECK(now > other);
        CHECK(std::to_string(now) != written);
    }
    SECTION("and was there")
    {
        const auto now = touch(redis, written, std::string(8, '\0'));
        CHECK(std::to_string(now) != written);
    }
    CHECK(epoch_of_state(redis) > 0);
}

TEST_CASE("key scripts: an external id names one account, as in a model")
{
    RedisServer redis;
    std::mt19937 random(20261127);
    const auto any = [&](int end) {
        return std::uniform_int_distribution<>(0, end - 1)(random);
    };
    const std::vector<std::string> accounts = {"", "a1", "a2", "a3"};
    std::map<std::string, std::string> model;
    std::array<int, 2> outcomes{};
    for (int i = 0; i < 5000; ++i) {
        const auto key = kSchema.external_id("cust_" + std::to_string(any(5)));
        const auto& seen = accounts[static_cast<std::size_t>(any(4))];
        const auto& next = accounts[static_cast<std::size_t>(any(4))];
        redis::Command command(store::scripts().compare_and_set, 1);
        command.key(key).arg(seen).arg(next);
        const auto reply = send(redis, command).integer;

        std::string& named = model[key];
        const bool replaced = named == seen;
        if (replaced) {
            named = next;
        }
        REQUIRE(reply == (replaced ? 1 : 0));
        ++outcomes[replaced ? 1 : 0];
        const auto now = redis.command({"GET", key});
        REQUIRE(now.text == named);
        REQUIRE((now.type == Value::Type::nil) == named.empty());
    }
    CHECK(outcomes[0] > 1000);
    CHECK(outcomes[1] > 500);
}

TEST_CASE("key scripts: a claim that is replaced keeps its end")
{
    RedisServer redis;
    redis.command({"SET", "claim", "pending", "PX", "100000"});
    redis::Command command(store::scripts().compare_and_set, 1);
    command.key("claim").arg("pending").arg("done");
    CHECK(send(redis, command).integer == 1);
    CHECK(redis.command({"GET", "claim"}).text == "done");
    CHECK(redis.command({"PTTL", "claim"}).integer > 90'000);
}

TEST_CASE("key scripts: only an unfinished record expires")
{
    RedisServer redis;
    auto key = some_key();
    const auto name = kSchema.key_record(key.digest);
    key.unfinished = true;
    const auto first = send(redis, kCommands.write(key, std::nullopt)).integer;
    CHECK(redis.command({"PTTL", name}).integer > 86'000'000);
    key.unfinished = false;
    CHECK(send(redis, kCommands.write(key, first)).integer > first);
    CHECK(redis.command({"PTTL", name}).integer == -1);
}

TEST_CASE("key scripts: a record is deleted unless it was changed since")
{
    RedisServer redis;
    auto key = some_key();
    key.record.epoch = send(redis, kCommands.write(key, std::nullopt)).integer;
    auto changed = key;
    changed.record.epoch =
        send(redis, kCommands.write(key, key.record.epoch)).integer;
    CHECK(send(redis, kCommands.remove(key)).integer == 0);
    CHECK(field(redis, key, "id") == "k1");
    CHECK(send(redis, kCommands.remove(changed)).integer == 1);
    CHECK(redis.command({"EXISTS", kSchema.key_record(key.digest)}).integer
          == 0);
    CHECK(send(redis, kCommands.remove(changed)).integer == 1);
}

TEST_CASE("key scripts: a plan is removed, and put back unless it is there")
{
    RedisServer redis;
    const auto set = [&](const std::string& name, const std::string& limits,
                         int most) {
        redis::Command command(store::scripts().set_plan, 1);
        command.key(kSchema.plans()).arg(name).arg(limits).arg(most);
        return send(redis, command).integer;
    };
    const auto remove = [&](const std::string& name) {
        redis::Command command(store::scripts().remove_plan, 1);
        command.key(kSchema.plans()).arg(name);
        return send(redis, command);
    };
    const auto there = [&](const std::string& name) {
        return redis.command({"HGET", kSchema.plans(), name}).text;
    };
    CHECK(set("gold", "1 2", 2) == 1);
    CHECK(set("tin", "5 6", 2) == 1);
    CHECK(set("more", "5 6", 2) == 0);
    CHECK(set("gold", "3 4", 2) == 1);
    CHECK(remove("gold").text == "3 4");
    CHECK(remove("gold").type == Value::Type::nil);
    CHECK(set("gold", "3 4", 0) == 1);
    CHECK(there("gold") == "3 4");
    CHECK(set("gold", "1 2", 0) == 1);
    CHECK(there("gold") == "3 4");
}

TEST_CASE("key scripts: a new key leaves the epoch of an account in use")
{
    RedisServer redis;
    const auto touch_for_new_key = [&](const std::string& written) {
        redis::Command command(store::scripts().touch_account, 1);
        command.key(kState).own(written).arg("").arg("").arg("1");
        return send(redis, command).integer;
    };
    const auto first = touch_for_new_key("");
    CHECK(epoch_of_state(redis) == first);
    const auto written = std::to_string(first + 500);
    CHECK(std::to_string(touch_for_new_key(written)) == written);

    // Charged at some time.
    std::string utc_day;
    store::append_numbers(utc_day, {20'000});
    redis.command({"SETRANGE", kState, "64", utc_day});
    const auto state = redis.command({"GET", kState}).text;
    CHECK(touch_for_new_key("") == first + 500);
    CHECK(touch_for_new_key(std::to_string(first + 900)) == first + 500);
    CHECK(redis.command({"GET", kState}).text == state);
    CHECK(touch(redis, std::to_string(first + 900)) == first + 900);
}

TEST_CASE("key scripts: only an existing state takes a record's epoch")
{
    RedisServer redis;
    // A new state never takes the epoch of a record.
    const auto start = micros(redis);
    CHECK(touch(redis, std::to_string(start + 1'000'000)) < start + 1'000'000);
    const auto first = epoch_of_state(redis);
    CHECK(first >= start);

    // An existing state takes the record's epoch, or its own plus one.
    CHECK(touch(redis, std::to_string(first + 500)) == first + 500);
    CHECK(epoch_of_state(redis) == first + 500);
    CHECK(touch(redis, std::to_string(first + 500)) == first + 501);
    CHECK(touch(redis, std::to_string(first)) == first + 502);
    CHECK(touch(redis, "0") == first + 503);

    // A record with an invalid epoch does no harm.
    CHECK(touch(redis, "9007199254740993") < micros(redis) + 1'000'000);
    CHECK(touch(redis, "nonsense") < micros(redis) + 1'000'000);
    CHECK(touch(redis) > first + 503);
    CHECK(redis.command({"PTTL", kState}).integer > 172'000'000);
}
