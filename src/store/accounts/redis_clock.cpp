#include "redis_clock.h"

#include <utility>

#include "../../redis/reply_fields.h"
#include "../../redis/script_call.h"
#include "../failure.h"
#include "../scripts.h"

namespace petstore::store {

// A question without an answer yet.
class RedisClock::Question final : public RedisClock::Questions::Item,
                                   private redis::ScriptCall {
public:
    Question(Questions& questions, std::size_t server,
             RedisClock& owner) noexcept
        : Item(questions, server), owner_(owner),
          sent_(owner.clock_.monotonic())
    {}

    void send(redis::Command command) noexcept
    {
        start(owner_.accounts_, std::move(command));
    }

private:
    void on_result(const redis::Reply& reply) noexcept override
    {
        if (reply.is_error()) {
            return fail(failure_of(reply, Purpose::read));
        }
        const auto now = redis::parse_time(reply);
        if (!now) {
            return fail(unavailable());
        }
        owner_.set(owner_.readings_[key()], *now, sent_);
        end(Outcome<Done>(Done()));
    }

    void on_no_result(redis::NoReply cause) noexcept override
    {
        fail(failure_of(cause, Purpose::read));
    }

    void fail(const Failure& failure) noexcept { end(Outcome<Done>(failure)); }

    RedisClock& owner_;
    const Monotonic sent_;
};

RedisClock::RedisClock(redis::Link& accounts, const Schema& schema,
                       const Clock& clock)
    : accounts_(accounts), schema_(schema), clock_(clock),
      is_cluster_(accounts.is_cluster())
{}

RedisClock::~RedisClock() = default;

std::size_t RedisClock::server_of(const CachedKey& key) const noexcept
{
    return is_cluster_ ? accounts_.group_of(key.account->slot_key()) : 0;
}

const RedisClock::Reading*
RedisClock::reading_of(const CachedKey& key) const noexcept
{
    const std::size_t server = server_of(key);
    return server < readings_.size() && readings_[server].known
               ? &readings_[server]
               : nullptr;
}

RedisClock::Reading& RedisClock::ensure_reading(std::size_t server)
{
    if (server >= readings_.size()) {
        readings_.resize(server + 1);
    }
    return readings_[server];
}

void RedisClock::set(Reading& reading, api::Millis now, Monotonic sent) noexcept
{
    reading.known = true;
    reading.ahead = now - static_cast<api::Millis>(clock_.monotonic());
    reading.sent = sent;
}

void RedisClock::set(const CachedKey& key, api::Millis now,
                     Monotonic sent) noexcept
{
    // Finding the server of a Cluster costs time, and other keys need no clock.
    if (is_cluster_ && !key.record.expires) {
        return;
    }
    try {
        set(ensure_reading(server_of(key)), now, sent);
    } catch (...) {
        // Out of memory: the next request asks.
    }
}

api::Millis RedisClock::time_by(const Reading& reading) const noexcept
{
    return static_cast<api::Millis>(clock_.monotonic()) + reading.ahead;
}

Expiry RedisClock::expiry(const CachedKey& key) const noexcept
{
    const auto& end = key.record.expires;
    if (!end) {
        return Expiry::valid;
    }
    const Reading* const reading = reading_of(key);
    if (reading == nullptr) {
        return Expiry::unconfirmed;
    }
    if (time_by(*reading) / 1000 < *end) {
        return Expiry::valid;
    }
    return clock_.monotonic() - reading->sent < kConfirmedFor
               ? Expiry::expired
               : Expiry::unconfirmed;
}

Monotonic RedisClock::confirmed_until(const CachedKey& key) const noexcept
{
    const Reading* const reading = reading_of(key);
    return reading == nullptr ? 0 : reading->sent + kConfirmedFor;
}

void RedisClock::ask(const CachedKey& key, Waiter<Done>& waiter) noexcept
{
    try {
        const std::size_t server = server_of(key);
        ensure_reading(server);
        if (Question* question = questions_.find(server)) {
            return question->join(&waiter);
        }
        redis::Command command(scripts().clock, 1);
        command.key(schema_.account_state(key.account->id()));
        questions_.start(server, &waiter, *this).send(std::move(command));
    } catch (...) {
        waiter.on_result(unavailable());
    }
}

api::UnixTime RedisClock::now() const noexcept
{
    for (const Reading& reading : readings_) {
        if (reading.known) {
            return time_by(reading) / 1000;
        }
    }
    return clock_.host_time() / 1000;
}

}  // namespace petstore::store
