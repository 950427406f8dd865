#pragma once

#include "../store/accounts/limit_queue.h"
#include "request_task.h"

namespace petstore::service {

using ValidKey = store::Ref<store::CachedKey>;

// What the client's request costs. Evaluated once, in the first location that
// asks; later ones share the result.
std::int64_t find_cost(RequestTask& task) noexcept;

// Remembers the limiter's decision on a command sent at `sent`, for later
// requests of the account.
void remember_decision(const api::Decision& decision, store::Monotonic sent,
                       store::CachedKey& key, store::Storage& storage);

enum class Consequence {
    admit,
    deny,
    deny_counted,  // by count_and_wait(): the denial may cause a ban
};

// Records the decision for the client's request, counts a denial, and returns
// the consequence.
Consequence apply_decision(RequestTask& task, const ValidKey& key,
                           const api::Decision& decision);

// Reports to Redis the denial that apply_decision() has counted. See
// DenialReporter::report_and_wait().
void count_and_wait(RequestTask& task, const ValidKey& key,
                    const api::Decision& decision,
                    store::Waiter<api::Decision>& waiter,
                    store::BanLog& log) noexcept;

// For a request whose client has left before the limiter's reply: remembers the
// decision, and counts a denial. Leaving early must not protect a client from a
// ban.
void remember_unanswered(RequestTask& task, const ValidKey& key,
                         const api::Decision& decision,
                         store::Monotonic sent) noexcept;

// Reports a denial from memory to Redis, so that constant traffic never waits
// for its confirmation.
void confirm_denial(RequestTask& task, const ValidKey& key) noexcept;

}  // namespace petstore::service
