#pragma once

#include <memory>
#include <vector>

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

// The requests of one key in one turn of the event loop, decided on by one
// command. It is as exact as one command each, since the script admits the
// first so many of them in one step, and costs Redis once what it costs for
// one. Owns itself until all of its waiters were told.
class LimitBatch final : public Deferred, public ReplyHandler {
public:
    // Adds a request to the key's batch of this turn.
    static void add(TurnLink& link, const Limiter& limiter,
                    const std::shared_ptr<CachedKey>& key, bool tell_time,
                    LimitWaiter& waiter);

    void emit() noexcept override;
    void on_reply(const resp::Reply& reply) noexcept override;
    void on_loss(Loss loss) noexcept override;

private:
    LimitBatch(TurnLink& link, const Limiter& limiter,
               const std::shared_ptr<CachedKey>& key)
        : link_(link), limiter_(limiter), key_(key)
    {}

    void send(bool eval) noexcept;

    TurnLink& link_;
    const Limiter& limiter_;
    const std::shared_ptr<CachedKey> key_;
    std::vector<LimitWaiter*> waiters_;
    bool tell_time_ = false;
    bool eval_ = false;
    bool* lost_ = nullptr;  // told when send() fails on the spot
};

}  // namespace petstore::store
