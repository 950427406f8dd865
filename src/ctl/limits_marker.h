#pragma once

#include <string>

#include "../store/command_runner.h"
#include "../store/schema.h"

namespace petstore::ctl {

// The value of <prefix>:limits in one Redis: whether the counters, bans and
// epochs of accounts live there. The id tells one store from another. No such
// key: nothing was ever said, as in a store of one Redis.
struct LimitsMarker {
    enum class Place {
        unknown,
        here,
        elsewhere,   // on the other Redis of the store, or on the way there
        moved_from,  // the whole store is, by StoreMover
        moving_to,   // the whole store is on its way here
    };

    Place place = Place::unknown;
    std::string id;

    bool is_here() const noexcept { return place == Place::here; }
    bool is_elsewhere() const noexcept { return place == Place::elsewhere; }

    // Throw Failure.
    static LimitsMarker read(store::CommandRunner& redis,
                             const store::Schema& schema);
    void write(store::CommandRunner& redis, const store::Schema& schema) const;

    // Throws Failure if the store moves or was moved to another Redis.
    void refuse_moved() const;
};

// Throws Failure if both are one database: a move would delete what it has
// moved. `option` names the second one.
void refuse_same_database(store::CommandRunner& main,
                          store::CommandRunner& other,
                          const store::Schema& schema, const char* option);

// In a Cluster, a worker may still create an account a moment after the marker
// says otherwise: waits until that has passed, if one of these is a Cluster.
void wait_for_workers(const store::CommandRunner& one,
                      const store::CommandRunner& other);

}  // namespace petstore::ctl
