#pragma once

#include <optional>
#include <string>

#include "../redis/link.h"
#include "admin_claim.h"
#include "task.h"

// Claims of requests to the admin API. `key`: Schema::admin_request(), which
// must outlive the task. A damaged claim is refused.

namespace petstore::store {

// nullopt if there is no claim.
Task<std::optional<AdminClaim>> find_claim(redis::Link& link,
                                           const std::string& key);

// Writes the claim, unless there is one: then returns that.
Task<std::optional<AdminClaim>> claim_request(redis::Link& link,
                                              const std::string& key,
                                              const AdminClaim& claim);

// Replaces a claim. False if it is not `seen` any more.
Task<bool> replace_claim(redis::Link& link, const std::string& key,
                         const AdminClaim& seen, const AdminClaim& next);

// Removes a claim. False if it is not `seen` any more.
Task<bool> remove_claim(redis::Link& link, const std::string& key,
                        const AdminClaim& seen);

}  // namespace petstore::store
