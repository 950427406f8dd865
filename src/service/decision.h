#pragma once

#include "../store/accounts/limit_queue.h"
#include "request_task.h"

namespace petstore::service {

using ValidKey = store::Ref<store::CachedKey>;

// What the client's request costs. Evaluated once, in the first location that
// asks; later ones share the result.
std::int64_t find_cost(RequestTask& task) noexcept;

// Remembers the limiter's decision on a command sent at `sent`, for later
// requests of the account. Returns false if the key has expired meanwhile.
bool take_decision(const api::Decision& decision, store::Monotonic sent,
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

// Takes the decision, and counts a denial, for a request whose client has left:
// it must not escape a ban by that.
void take_unanswered(RequestTask& task, const ValidKey& key,
                     const api::Decision& decision,
                     store::Monotonic sent) noexcept;

// Reports a denial from memory to Redis, so that constant traffic never waits
// for its confirmation.
void confirm_denial(RequestTask& task, const ValidKey& key) noexcept;

}  // namespace petstore::service
