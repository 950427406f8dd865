#include "store_format.h"

#include "limits_marker.h"

namespace petstore::ctl {

namespace {

bool exists(RedisSession& redis, const std::string& key)
{
    return redis.call(redis::Command("EXISTS").key(key)).integer() != 0;
}

// Workers write no fence. So a Redis that has lost its data, and then gets a
// create or a change that was admitted before, has data of format 2 without it.
bool has_pets_of_format_1(RedisSession& redis, const store::Schema& schema)
{
    if (!exists(redis, schema.changes())) {
        return false;
    }
    const redis::Reply& fence =
        redis.call_naming_key(redis::Command("GET").key(schema.pet_fence()));
    return fence.text() != kPetFence;
}

// Format 1 has no accounts.
bool has_keys_of_format_1(RedisSession& redis, const store::Schema& schema)
{
    return exists(redis, schema.key_index())
           && !exists(redis, schema.account_index());
}

}  // namespace

StoreFormat format_of(RedisSession& redis, const store::Schema& schema)
{
    const redis::Reply& fence =
        redis.call_naming_key(redis::Command("GET").key(schema.limits_fence()));
    if (!fence.is(redis::Type::nil)) {
        // Format 1 had the marker here.
        return fence.text() == kFence              ? StoreFormat::two
               : fence.text() == kFenceUpgrading   ? StoreFormat::upgrading
               : LimitsMarker::parse(fence.text()) ? StoreFormat::one
                                                   : StoreFormat::unknown;
    }
    return has_pets_of_format_1(redis, schema)
                   || has_keys_of_format_1(redis, schema)
               ? StoreFormat::one
               : StoreFormat::two;
}

std::string unknown_format_advice(const store::Schema& schema)
{
    return "use a later petstorectl, or repair the Redis key "
           + schema.limits_fence();
}

void fence_new_store(RedisSession& redis, const store::Schema& schema)
{
    redis.call(
        redis::Command("SET").key(schema.limits_fence()).arg(kFence).arg("NX"));
}

}  // namespace petstore::ctl
