#pragma once

#include <string>

#include "../../redis/link.h"
#include "../../redis/scheduler.h"
#include "../damage.h"
#include "../event_log.h"
#include "../schema.h"
#include "../shared_read.h"

namespace petstore::store {

// Reads <prefix>:limits-place in a Cluster, where the limiter's script cannot,
// because the key is in another slot than the accounts. Needed only for an
// account without a state, which is new unless all accounts were moved. Sends
// one command for all requests of an event-loop iteration.
//
// A worker that has read the marker may still create an account's state, until
// its next three commands have timed out. So whoever changes the marker waits
// that long before it looks for accounts.
class MarkerReader final : private redis::EndOfIterationTask {
public:
    // Borrows all but `schema`. Throws std::bad_alloc.
    MarkerReader(redis::Link& link, redis::Scheduler& scheduler,
                 const Schema& schema, DamageLog& damage_log, EventLog& log);
    ~MarkerReader();
    MarkerReader(const MarkerReader&) = delete;

    // Fails if accounts were moved to another Redis. Calls the waiter exactly
    // once, possibly before it returns. Damage is logged here.
    void confirm_here(Waiter<Done>& waiter) noexcept;

private:
    class Load;
    using Loads = SharedReads<Load, Waiter<Done>*>;

    void run() noexcept override;

    redis::Link& link_;
    redis::Scheduler& scheduler_;
    const std::string marker_;
    DamageLog& damage_log_;
    EventLog& log_;
    Loads loads_;
};

}  // namespace petstore::store
