#pragma once

#include <string>

#include "../store/command_runner.h"
#include "../store/schema.h"

namespace petstore::ctl {

enum class Access { read, change };

// The value of <prefix>:limits in one Redis: whether the counters, bans and
// epochs of accounts live there. The id tells one store's limits from
// another's. No such key: nothing was ever said, as in a store of one Redis.
struct LimitsMarker {
    enum class Place { unknown, here, elsewhere };

    Place place = Place::unknown;
    std::string id;

    bool is_here() const noexcept { return place == Place::here; }
    bool is_elsewhere() const noexcept { return place == Place::elsewhere; }
};

// Keeps both Redis agreed on where the limits are, so that no command changes
// an account where no worker looks. Throws Failure.
class LimitsPlace {
public:
    // `limits` is nullptr without --limit-redis.
    LimitsPlace(store::CommandRunner& main, store::CommandRunner* limits,
                const store::Schema& schema)
        : main_(main), limits_(limits), schema_(schema)
    {}

    // Fails unless the options name the Redis with the limits. The first change
    // of a store without keys chooses it.
    void check(Access access);

    // Moves the limits of all accounts to the Redis of --limit-redis, or back,
    // account by account, while workers run. Returns the number of accounts.
    // After an interruption, calling it again completes the move.
    std::size_t move_out();
    std::size_t move_back();

private:
    LimitsMarker read(store::CommandRunner& redis);
    void write(store::CommandRunner& redis, LimitsMarker::Place place,
               const std::string& id);
    bool has_keys();
    void choose(const LimitsMarker& limits);
    void begin_move(const LimitsMarker& main, const LimitsMarker& limits);
    void refuse_same_database();

    store::CommandRunner& main_;
    store::CommandRunner* limits_;
    const store::Schema& schema_;
};

}  // namespace petstore::ctl
