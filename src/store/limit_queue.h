#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>

#include "key_cache.h"
#include "limiter.h"
#include "link.h"

namespace petstore::store {

// A request that waits for the limiter.
class LimitWaiter {
public:
    // The limiter's command is about to be written: what is sent now is
    // executed right behind it.
    virtual void on_limit_sent() noexcept = 0;

    // Exactly one of these, once.
    virtual void on_limit(const Limiter::Answer& answer,
                          std::int64_t index) noexcept = 0;
    virtual void on_limit_error(const resp::Reply& error) noexcept = 0;
    virtual void on_limit_loss(Loss loss) noexcept = 0;

protected:
    ~LimitWaiter() = default;
};

// Batches all limit checks of one event-loop iteration: each command names an
// account once, with the number of its requests. This is as exact as one
// command per request, since the script goes through the accounts one by one
// and admits the first requests of each up to its limit. One per Store.
class LimitQueue {
public:
    LimitQueue(TurnLink& link, const Limiter& limiter) noexcept;
    ~LimitQueue();
    LimitQueue(const LimitQueue&) = delete;

    // Calls the waiter exactly once, before it returns if the request cannot
    // be queued. `fresh`: the key's record was read in this iteration.
    void add(const std::shared_ptr<CachedKey>& key, bool fresh,
             LimitWaiter& waiter) noexcept;

private:
    class Batch;

    Batch* open_batch(const CachedKey& key) noexcept;
    void add_to_new_batch(const std::shared_ptr<CachedKey>& key, bool fresh,
                          LimitWaiter& waiter);
    void close(Batch& batch) noexcept;

    TurnLink& link_;
    const Limiter& limiter_;
    std::list<Batch> batches_;   // open ones, and those without a reply
    std::deque<Batch*> open_;    // not sent yet, numbered consecutively
    std::uint64_t numbers_ = 0;  // of the newest batch
};

}  // namespace petstore::store
