#pragma once

#include <string>

#include "../key_servers.h"
#include "../operations.h"
#include "../waiter.h"
#include "plan_listing.h"

namespace petstore::store {

// Lists and changes the plans in Redis. A change takes effect on all workers
// within two seconds; a plan is one field, so none is ever half written. All
// functions throw std::bad_alloc, and then call no waiter. Must stay alive
// until its operations have ended.
class PlanAdministration {
public:
    // Borrows what `servers` refers to.
    explicit PlanAdministration(const KeyServers& servers) noexcept
        : servers_(servers)
    {}

    // All plans, from all sources.
    void list(Waiter<KnownPlans>& waiter);

    // Adds or replaces a plan in Redis. Refuses one too many.
    void set(std::string name, const api::Limits& limits, Waiter<Done>& waiter);

    // Removes a plan from Redis. Refuses one that is not there, and one that a
    // key or an account has, unless another source defines it.
    void remove(std::string name, Waiter<Done>& waiter);

private:
    const KeyServers servers_;
    Operations running_;
};

}  // namespace petstore::store
