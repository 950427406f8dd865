#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../../store/schema.h"
#include "../accounts/limits_marker.h"
#include "../redis/redis_session.h"
#include "../terminal/progress.h"

namespace petstore::ctl {

// Converts a store from format 1 to format 2 in place, while no nginx uses it.
// An interrupted upgrade repeats the steps, in this order:
//
// 1. Fences stop versions that only know format 1, in case one was forgotten,
//    and the catalogue gets its segments.
// 2. After a while in which such versions finish what they have begun, the
//    states of accounts are converted. Those versions call them damaged.
// 3. Each account gets its record, by which workers know that it was converted.
// 4. Other fences permit this version's petstorectl to use the store.
//
// Throws Failure.
class StoreUpgrade {
public:
    // `limit_redis` is nullptr without --limit-redis.
    StoreUpgrade(RedisSession& main, RedisSession* limit_redis,
                 const store::Schema& schema);

    struct Upgraded {
        bool any = false;  // else there was nothing to convert
        std::size_t accounts = 0;
        std::size_t keys = 0;
        std::int64_t pets = 0;
        // Names of Redis keys that were left alone.
        std::vector<std::string> damaged;
    };
    Upgraded run();

private:
    using Names = std::vector<std::string>;

    void check() const;
    void check_rights();
    void check_catalogue();
    void raise_fence(RedisSession& redis);
    void convert_catalogue();
    void wait() const;
    void convert_states(RedisSession& redis);
    void convert_states_on(RedisSession& server);
    void convert_batch(RedisSession& server, Names& states);
    void take(std::string_view name, Names& states);
    void convert_records();
    void complete(RedisSession& redis);
    RedisSession& accounts() const noexcept
    {
        return limit_redis_ != nullptr ? *limit_redis_ : main_;
    }

    RedisSession& main_;
    RedisSession* const limit_redis_;
    const store::Schema& schema_;
    const std::string records_;  // the beginning of the names of keys' records
    Upgraded upgraded_;
    Names key_records_;
};

}  // namespace petstore::ctl
