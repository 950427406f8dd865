#pragma once

#include "../store/keys/key_cache.h"
#include "request_task.h"

namespace petstore::service {

// Answers a request without a valid key. Counts it in the window of its
// client's address, which limits it only where that is enforced. Not so if the
// limits of an account have decided about it: its key has ended since, or is
// not valid in another store. nginx may have freed its request when this
// returns.
void refuse_key(RequestTask& task, const store::RefusedKey& key);

// Whether the location accepts the key's plan.
bool is_plan_allowed(const Settings& settings,
                     const store::CachedKey& key) noexcept;
api::Error plan_not_allowed() noexcept;

api::Error no_such_path() noexcept;
api::Error insufficient_scope() noexcept;

// Answers a request that its account's limits or ban deny. nginx may have freed
// its request when this returns.
void deny(RequestTask& task, const api::Decision& decision);

}  // namespace petstore::service
