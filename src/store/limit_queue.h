#pragma once

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

// The way of requests to the limiter: those of one turn of the event loop are
// decided on by one command, which names each account once, with the number of
// its requests. It is as exact as one command each, since the script goes
// through the accounts one by one and admits the first so many requests of
// each. One per Store.
class LimitQueue {
public:
    LimitQueue(TurnLink& link, const Limiter& limiter) noexcept
        : link_(link), limiter_(limiter)
    {}
    LimitQueue(const LimitQueue&) = delete;

    // `fresh`: the key's record was read in this very turn.
    void add(const std::shared_ptr<CachedKey>& key, bool fresh,
             LimitWaiter& waiter);

private:
    class Batch;

    Batch& batch_for(const Account& account, const CachedKey& key);

    TurnLink& link_;
    const Limiter& limiter_;
    Batch* open_ = nullptr;      // of this turn; batches own themselves
    std::uint64_t batches_ = 0;  // so many were begun
};

}  // namespace petstore::store
