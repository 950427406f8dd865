#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "../../store/schema.h"
#include "../redis/redis_session.h"

namespace petstore::ctl {

// The value of <prefix>:limits-place in one Redis: whether the counters, bans
// and epochs of accounts live there. The id distinguishes stores. A store that
// never had a second Redis has no such key.
struct LimitsMarker {
    enum class Place {
        unknown,
        here,
        elsewhere,   // on the other Redis of the store, or being moved there
        moved_from,  // the whole store was moved away, or is being moved
        moving_to,   // the whole store is being moved here
    };

    Place place = Place::unknown;
    std::string id;

    bool is_here() const noexcept { return place == Place::here; }
    bool is_elsewhere() const noexcept { return place == Place::elsewhere; }

    // nullopt if it is none.
    static std::optional<LimitsMarker> parse(std::string_view text);

    // Throw Failure. `key`: where the marker is.
    static LimitsMarker read(RedisSession& redis, const std::string& key);
    static LimitsMarker read(RedisSession& redis, const store::Schema& schema)
    {
        return read(redis, schema.limits_marker());
    }
    void write(RedisSession& redis, const store::Schema& schema) const;
    void write_if_absent(RedisSession& redis,
                         const store::Schema& schema) const;

    // Throws Failure if the store was moved to another Redis, or if its move
    // here is incomplete.
    void refuse_moved() const;

private:
    redis::Command command(const store::Schema& schema) const;
};

// Throw Failure if the options do not name the Redis with the limits: of a main
// Redis without --limit-redis, and of one whose limits are elsewhere.
void refuse_elsewhere(const LimitsMarker& main);
void refuse_others(const LimitsMarker& main, const LimitsMarker& limits);
inline constexpr char kForeignLimits[] =
    "the Redis of --limit-redis has the limits of another store";

// Throws Failure if both are the same database, where a move would delete the
// data. `option` names the second one in the message.
void refuse_same_database(RedisSession& main, RedisSession& other,
                          const store::Schema& schema, const char* option);

// Waits until no worker that has read the old marker can still act on it:
// create an account in a Cluster, where scripts cannot read the marker, or end
// a change of the admin API.
void wait_for_workers();

}  // namespace petstore::ctl
