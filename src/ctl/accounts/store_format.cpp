#include "store_format.h"

namespace petstore::ctl {

StoreFormat format_of(RedisSession& redis, const store::Schema& schema)
{
    const redis::Reply& fence =
        redis.call(redis::Command("GET").key(schema.limits_fence()));
    if (!fence.is(redis::Type::nil)) {
        return fence.text() == kFence            ? StoreFormat::two
               : fence.text() == kFenceUpgrading ? StoreFormat::upgrading
                                                 : StoreFormat::one;
    }
    for (const std::string& name : {schema.key_index(), schema.changes()}) {
        if (redis.call(redis::Command("EXISTS").key(name)).integer() != 0) {
            return StoreFormat::one;
        }
    }
    return StoreFormat::empty;
}

void fence_new_store(RedisSession& redis, const store::Schema& schema)
{
    redis.call(
        redis::Command("SET").key(schema.limits_fence()).arg(kFence).arg("NX"));
}

}  // namespace petstore::ctl
