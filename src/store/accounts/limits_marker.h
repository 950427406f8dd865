#pragma once

#include "../../redis/in_flight.h"
#include "../../redis/link.h"
#include "../../redis/scheduler.h"
#include "../schema.h"

namespace petstore::store {

// A request that waits for the marker.
class MarkerWaiter {
public:
    enum class Marker {
        here,       // accounts are on the Redis that was asked
        elsewhere,  // they were moved to another one
    };
    virtual void on_marker(Marker marker) noexcept = 0;
    virtual void on_marker_error(const redis::Reply& error) noexcept = 0;
    virtual void on_no_marker(redis::NoReply cause) noexcept = 0;

protected:
    ~MarkerWaiter() = default;
};

// Reads <prefix>:limits in a Cluster, where the limiter's script cannot,
// because the key is in another slot than the accounts. Needed only for an
// account without a state, which is new unless all accounts were moved. Sends
// one command for all requests of an event-loop iteration.
//
// A worker that has read the marker may still create an account's state, until
// its next three commands have timed out. So whoever changes the marker waits
// that long before it looks for accounts.
class LimitsMarker final : private redis::EndOfIterationTask {
public:
    // All borrowed.
    LimitsMarker(redis::Link& link, redis::Scheduler& scheduler,
                 const Schema& schema) noexcept;
    ~LimitsMarker();
    LimitsMarker(const LimitsMarker&) = delete;
    LimitsMarker& operator=(const LimitsMarker&) = delete;

    // Calls the waiter exactly once, possibly before it returns.
    void read(MarkerWaiter& waiter) noexcept;

private:
    class Load;

    void run() noexcept override;

    redis::Link& link_;
    redis::Scheduler& scheduler_;
    const Schema& schema_;
    redis::InFlight<Load> loads_;
    Load* open_ = nullptr;  // of this iteration
};

}  // namespace petstore::store
