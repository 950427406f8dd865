#pragma once

#include <cstddef>

namespace petstore::store {

enum class Event {
    catalogue_full,   // a create was refused
    lookup_refused,   // too many are in progress
    request_refused,  // too many wait for Redis
    unexpected_limiter_reply,
    changed_too_often,  // an account, while a request needed its records
    limits_elsewhere,   // not on the Redis that was asked
    foreign_limits,     // the limit Redis has those of another store
    own_limits,         // it has those of this store again
    // An access rule forbids reading the marker of the limits. Reported once.
    limits_not_compared,
    // An access rule forbids reading the plans in Redis. Reported once, and
    // again only after a read was permitted.
    plans_forbidden,
    // An access rule forbids reading or writing the usage of accounts. Reported
    // once, and again only after both were permitted.
    usage_forbidden,
};
inline constexpr auto kEvents =
    static_cast<std::size_t>(Event::usage_forbidden) + 1;

// Receives the store's reports for the operator.
class EventLog {
public:
    virtual void report(Event event) noexcept = 0;

protected:
    ~EventLog() = default;
};

}  // namespace petstore::store
