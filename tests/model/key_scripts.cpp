// Tests the scripts that change key records, in a real Redis.
#include <string>
#include <vector>

#include "as_text.h"
#include "catch.h"
#include "e2e/support/redis_server.h"
#include "store/accounts/account_state.h"
#include "store/keys/stored_key.h"
#include "store/scripts.h"

using namespace petstore;
using e2e::RedisServer;
using e2e::Value;

namespace {

const store::Schema kSchema("petstore");
const store::StoredKeyCommands kCommands(kSchema);
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

std::int64_t touch(const RedisServer& redis, const std::string& written = "")
{
    redis::Command command(store::scripts::touch_account(), 1);
    command.key(kState);
    if (!written.empty()) {
        command.arg(written);
    }
    return send(redis, command).integer;
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
