#pragma once

#include <cstdint>

#include "../../api/plan.h"
#include "../../redis/link.h"
#include "../clock.h"
#include "../damage.h"
#include "../event_log.h"
#include "../keys/key_cache.h"
#include "../shared_read.h"
#include "plan_commands.h"

namespace petstore::store {

// The plans by which a worker limits: those of its configuration, replaced by
// those of the same name in Redis. One per Storage.
//
// Requests keep them up to date; an idle worker reads nothing. While requests
// arrive, the plans are read once per second, and none waits for that. Only
// those that would decide by older plans than kValidFor wait, if Redis answered
// the last time: the first ones of a worker, together with its key's record,
// and the first ones after a pause. Without an answer, the plans read last
// count, so that a Redis that is away stops no request that does not need it.
// Before the first answer there are none, and requests fail: by the plans of
// the configuration alone, a customer could get more than the plan in Redis, or
// be refused as one of the plan free. For the same reason, KeyLoader reads them
// for a record whose plan they lack.
class PlansInForce {
public:
    // In milliseconds. A change is in effect after kValidFor.
    static constexpr Monotonic kInterval = 1000;
    static constexpr Monotonic kValidFor = 1900;

    // All borrowed.
    PlansInForce(redis::Link& link, const Schema& schema, const Clock& clock,
                 const api::PlanTable& configured, DamageLog& damage_log,
                 EventLog& log);
    ~PlansInForce();
    PlansInForce(const PlansInForce&) = delete;

    const api::PlanTable& table() const noexcept { return table_; }

    // Takes the limits of a cached key again if plans have changed since.
    void update(CachedKey& key) const noexcept
    {
        if (key.plans_generation != generation_) {
            key.take_limits(table_);
            key.plans_generation = generation_;
        }
    }

    // Whether a request may be limited by the table now. Starts a read if one
    // is due. If false, wait() is possible until the end of this event-loop
    // iteration.
    bool current() noexcept;

    // Calls the waiter once the table is as current as it can be, possibly
    // before this returns; with a failure if no read has had an answer yet, or
    // if out of memory.
    void wait(Waiter<Done>& waiter) noexcept;

    // Whether a read is in flight, for which wait() is possible.
    bool being_read() const noexcept { return loads_.find() != nullptr; }

    // The same, but reads the plans if no read is in flight.
    void read_and_wait(Waiter<Done>& waiter) noexcept;

    // Whether the last read had an answer.
    bool answered() const noexcept { return answered_; }

private:
    class Load;
    using Loads = SharedReads<Load, Waiter<Done>*>;

    Outcome<Done> outcome() const;  // of a read that has ended
    void read() noexcept;
    void take(const redis::Reply& reply, Monotonic sent);
    void use(StoredPlans stored);

    redis::Link& link_;
    const PlanCommands commands_;
    const Clock& clock_;
    const api::PlanTable& configured_;
    DamageLog& damage_log_;
    EventLog& log_;
    api::PlanTable table_;
    api::NamedLimits stored_;  // the plans in Redis that the table has
    std::uint32_t generation_ = CachedKey::kNoPlans + 1;  // of the table

    Monotonic asked_at_ = 0;
    bool answered_ = true;  // the last read, or none has ended yet
    bool known_ = false;    // by a read that was sent at read_at_
    Monotonic read_at_ = 0;
    bool damaged_ = false;  // reported
    bool forbidden_ = false;
    Loads loads_;
};

}  // namespace petstore::store
