#pragma once

#include <string>

#include "../../store/command_runner.h"
#include "../../store/schema.h"
#include "limits_marker.h"

namespace petstore::ctl {

// examine: changes nothing, but fails where a change would.
enum class Access { read, examine, change };

// Keeps both Redis servers consistent about where the limits are, so that no
// command changes an account where no worker reads it. Throws Failure.
class LimitsPlace {
public:
    // `limits` is nullptr without --limit-redis.
    LimitsPlace(store::CommandRunner& main, store::CommandRunner* limits,
                const store::Schema& schema)
        : main_(main), limits_(limits), schema_(schema)
    {}

    // Fails unless the options name the Redis with the limits. The first change
    // to a store without keys chooses that Redis.
    void check(Access access);

    // Moves the limits of all accounts to the Redis of --limit-redis, or back,
    // account by account, while workers run. Returns the number of accounts.
    // After an interruption, calling it again completes the move. `emptied`:
    // the Redis of --limit-redis had the limits and has lost its data.
    std::size_t move_out(bool emptied);
    std::size_t move_back();

private:
    LimitsMarker read(store::CommandRunner& redis) const
    {
        return LimitsMarker::read(redis, schema_);
    }
    void write(store::CommandRunner& redis, LimitsMarker::Place place,
               const std::string& id) const
    {
        LimitsMarker{place, id}.write(redis, schema_);
    }
    bool has_keys();
    void refuse_others(const LimitsMarker& main, const LimitsMarker& limits);
    void choose(const LimitsMarker& main, const LimitsMarker& limits);
    std::string mark(const LimitsMarker& main, const LimitsMarker& limits);
    void begin_move(const LimitsMarker& main, const LimitsMarker& limits);

    store::CommandRunner& main_;
    store::CommandRunner* limits_;
    const store::Schema& schema_;
};

}  // namespace petstore::ctl
