#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "../../redis/in_flight.h"
#include "../../redis/link.h"
#include "../../redis/scheduler.h"
#include "../damage.h"
#include "../event_log.h"
#include "../keys/key_cache.h"
#include "../waiter.h"
#include "limit_commands.h"

namespace petstore::store {

// What the limiter says about one request.
struct LimitAnswer {
    enum class Kind {
        decided,
        stale,     // the account has another epoch now: `epoch`
        unplaced,  // ask MarkerReader, then retry
    } kind = Kind::decided;
    std::int64_t epoch = 0;
    api::Decision decision;
    std::optional<Version> version;  // see LimitResult
};

// A request that reads ahead, in the write of the limiter's command.
class LimitObserver {
public:
    // The command was sent; anything sent now is executed after it. Not called
    // if the command has already failed.
    virtual void on_limit_sent() noexcept = 0;

protected:
    ~LimitObserver() = default;
};

// Batches all limit checks of one event-loop iteration: each command names an
// account once, with the number of its requests, which have the same limits and
// cost. This is as exact as one command per request, since the script goes
// through the accounts one by one and admits the first requests of each up to
// its limit. One per Storage.
//
// In a Cluster, each command names accounts that the slot map assigns to one
// server. Accounts that have moved, or whose usage cannot be written, are not
// charged and are retried, each in its own command.
class LimitQueue {
public:
    // All borrowed.
    LimitQueue(redis::Link& link, redis::Scheduler& scheduler,
               const LimitCommands& limiter, DamageLog& damage_log,
               EventLog& log) noexcept;
    ~LimitQueue();
    LimitQueue(const LimitQueue&) = delete;

    // About the key's account.
    struct Known {
        bool fresh = false;   // the key's record was read in this iteration
        bool placed = false;  // see LimitRequest
    };

    // Who asks. Both are the same request.
    struct Asker {
        LimitObserver& observer;
        Waiter<LimitAnswer>& waiter;
        bool needs_version = true;  // see LimitRequest
    };

    // `cost` is in units. Calls the waiter exactly once. Calls it before
    // returning if the request cannot be queued. A failure is in doubt if the
    // request may be charged.
    void add(const Ref<CachedKey>& key, std::int64_t cost, Known known,
             const Asker& asker) noexcept;

    // Both of CachedKey, for the Redis that is asked here.
    bool may_be_outdated(const CachedKey& key) const noexcept
    {
        return key.may_be_outdated(link_);
    }
    std::int64_t epoch_of(const CachedKey& key) const noexcept
    {
        return key.epoch_on(link_);
    }

private:
    class Batch;

    // Accounts of different groups need separate commands.
    using Group = std::uintptr_t;
    Group group_of(const CachedKey& key) const noexcept;

    bool join(const LimitRequest& request, const Ref<CachedKey>& key,
              const Asker& asker);
    void add_to_new_batch(const LimitRequest& request,
                          const Ref<CachedKey>& key, const Asker& asker);
    void close(Batch& batch) noexcept;

    redis::Link& link_;
    redis::Scheduler& scheduler_;
    const LimitCommands& limiter_;
    DamageLog& damage_log_;
    EventLog& log_;
    redis::InFlight<Batch> batches_;  // open ones, and those without a reply
    std::deque<Batch*> open_;         // not sent yet, numbered consecutively
    bool across_slots_ = true;        // until a server refuses that
    std::uint64_t numbers_ = 0;       // of the newest batch
};

}  // namespace petstore::store
