#pragma once

#include <vector>

#include "../../redis/link.h"
#include "../clock.h"
#include "../keys/key_cache.h"
#include "../schema.h"
#include "../shared_read.h"

namespace petstore::store {

// When a key has expired.
enum class Expiry {
    valid,        // by the last reading; the limiter's reply decides
    expired,      // by a reading less than a second old
    unconfirmed,  // no reading, or an older one by which the key has expired
};

// Redis's clock as one worker last read it, which decides when keys expire, at
// the same moment on every host. In a Cluster, that is the clock of the primary
// that has the key's account. One per Storage.
//
// Replies of the limiter bring the time along, but a key that has expired never
// gets there: after a clock that ran ahead was set right, only asking again
// ends its refusal. Requests share a question, so there is at most one per
// second and server, and a flood of requests with an expired key is refused
// from memory.
class RedisClock {
public:
    static constexpr Monotonic kConfirmedFor = 1000;

    // All borrowed.
    RedisClock(redis::Link& accounts, const Schema& schema, const Clock& clock);
    ~RedisClock();
    RedisClock(const RedisClock&) = delete;

    // A reply for the key's account to a command sent at `sent` contained
    // `now`.
    void set(const CachedKey& key, api::Millis now, Monotonic sent) noexcept;

    Expiry expiry(const CachedKey& key) const noexcept;

    // When a refusal because of Expiry::expired must be decided again.
    Monotonic confirmed_until(const CachedKey& key) const noexcept;

    // Reads the clock, which expiry() then uses. Calls the waiter exactly once,
    // possibly before returning.
    void ask(const CachedKey& key, Waiter<Done>& waiter) noexcept;

    // Redis's time, or this host's until Redis's is known.
    api::UnixTime now() const noexcept;

private:
    class Question;
    using Questions = SharedReads<Question, Waiter<Done>*, std::size_t>;

    // Of one server.
    struct Reading {
        bool known = false;
        api::Millis ahead = 0;  // of Clock::monotonic(), which takes no steps
        Monotonic sent = 0;     // when the command was sent
    };

    std::size_t server_of(const CachedKey& key) const noexcept;
    const Reading* reading_of(const CachedKey& key) const noexcept;
    Reading& ensure_reading(std::size_t server);
    void set(Reading& reading, api::Millis now, Monotonic sent) noexcept;
    api::Millis time_by(const Reading& reading) const noexcept;

    redis::Link& accounts_;
    const Schema& schema_;
    const Clock& clock_;
    const bool is_cluster_;
    std::vector<Reading> readings_;  // by redis::Link::group_of()
    Questions questions_;            // by server
};

}  // namespace petstore::store
