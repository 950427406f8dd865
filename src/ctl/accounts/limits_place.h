#pragma once

#include <string>

#include "../../store/schema.h"
#include "../redis/redis_session.h"
#include "limits_marker.h"

namespace petstore::ctl {

// What a command does to the store. examine: changes nothing, but fails where a
// change would.
enum class Access { read, examine, change };

// Keeps both Redis servers consistent about where the limits are, so that no
// command changes an account where no worker reads it. Throws Failure.
class LimitsPlace {
public:
    // `limit_redis` is nullptr without --limit-redis, which move_out() and
    // move_back() need.
    LimitsPlace(RedisSession& main, RedisSession* limit_redis,
                const store::Schema& schema)
        : main_(main), limit_redis_(limit_redis), schema_(schema)
    {}

    // Fails unless the options name the Redis with the limits. The first change
    // to a store without accounts chooses that Redis.
    void check(Access access);

    // Moves the limits of all accounts to the Redis of --limit-redis, or back,
    // account by account, while workers run. Returns the number of accounts.
    // After an interruption, calling it again completes the move. `emptied`:
    // the Redis of --limit-redis had the limits and has lost its data.
    std::size_t move_out(bool emptied);
    std::size_t move_back();

private:
    LimitsMarker read(RedisSession& redis) const
    {
        return LimitsMarker::read(redis, schema_);
    }
    void write(RedisSession& redis, LimitsMarker::Place place,
               const std::string& id) const
    {
        LimitsMarker{place, id}.write(redis, schema_);
    }
    bool has_accounts(RedisSession& redis);
    void refuse_foreign(const LimitsMarker& main, const LimitsMarker& limits);
    void refuse_counts();
    std::string mark(const LimitsMarker& main);
    void begin_move(const LimitsMarker& main, const LimitsMarker& limits);

    RedisSession& main_;
    RedisSession* limit_redis_;
    const store::Schema& schema_;
};

}  // namespace petstore::ctl
