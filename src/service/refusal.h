#pragma once

#include "../store/keys/key_cache.h"
#include "request_task.h"

namespace petstore::service {

// Refuses a request without a valid key. Counts it in the window of its
// client's address, which limits it only where that is enforced.
void refuse_key(RequestTask& task, const store::RefusedKey& key);

// Whether the location accepts the key's plan.
bool is_plan_allowed(const Settings& settings,
                     const store::CachedKey& key) noexcept;
api::Error plan_not_allowed() noexcept;

api::Error no_such_path() noexcept;
api::Error insufficient_scope() noexcept;

// Denies a request because of its account's limits or ban.
void deny(RequestTask& task, const api::Decision& decision);

}  // namespace petstore::service
