#pragma once

#include <cstdint>
#include <deque>

#include "../../redis/in_flight.h"
#include "../../redis/link.h"
#include "../../redis/scheduler.h"
#include "../keys/key_cache.h"
#include "limit_commands.h"

namespace petstore::store {

// A request that waits for the limiter.
class LimitWaiter {
public:
    // The command was sent; anything sent now is executed after it. Not called
    // if the command has already failed.
    virtual void on_limit_sent() noexcept = 0;

    // Exactly one of these is called, once. `index` is the request's position
    // among those of its account.
    virtual void on_limit(const LimitResult& result,
                          std::int64_t index) noexcept = 0;
    virtual void on_limit_error(const redis::Reply& error) noexcept = 0;
    virtual void on_limit_no_reply(redis::NoReply cause) noexcept = 0;

protected:
    ~LimitWaiter() = default;
};

// Batches all limit checks of one event-loop iteration: each command names an
// account once, with the number of its requests. This is as exact as one
// command per request, since the script goes through the accounts one by one
// and admits the first requests of each up to its limit. One per Storage.
//
// In a Cluster, each command names accounts that the slot map assigns to one
// server. Accounts that have moved are not charged and are retried, each in its
// own command.
class LimitQueue {
public:
    // All borrowed.
    LimitQueue(redis::Link& link, redis::Scheduler& scheduler,
               const LimitCommands& limiter) noexcept;
    ~LimitQueue();
    LimitQueue(const LimitQueue&) = delete;

    // About the key's account.
    struct Known {
        bool fresh = false;   // the key's record was read in this iteration
        bool placed = false;  // see LimitRequest
    };

    // Calls the waiter exactly once. Calls it before returning if the request
    // cannot be queued.
    void add(const Ref<CachedKey>& key, Known known,
             LimitWaiter& waiter) noexcept;

private:
    class Batch;

    // Accounts of different groups need separate commands.
    using Group = std::uintptr_t;
    Group group_of(const CachedKey& key) const noexcept;

    Batch* open_batch(const CachedKey& key) noexcept;
    void add_to_new_batch(const Ref<CachedKey>& key, Known known,
                          LimitWaiter& waiter);
    void close(Batch& batch) noexcept;
    std::int64_t epoch_of(const CachedKey& key) const noexcept;

    redis::Link& link_;
    redis::Scheduler& scheduler_;
    const LimitCommands& limiter_;
    redis::InFlight<Batch> batches_;  // open ones, and those without a reply
    std::deque<Batch*> open_;         // not sent yet, numbered consecutively
    bool across_slots_ = true;        // until a server refuses that
    std::uint64_t numbers_ = 0;       // of the newest batch
};

}  // namespace petstore::store
