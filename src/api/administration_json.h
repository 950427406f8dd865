#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "account.h"
#include "key.h"
#include "plan.h"
#include "usage.h"

namespace petstore::api {

// The JSON objects of administration, for `petstorectl --json` and the admin
// API. What is absent is null. Throw std::bad_alloc.

std::string account_json(const AccountRecord& account,
                         std::optional<Day> last_used);

// "unfinished", "disabled" (the key or its account), "expired" or "usable".
std::string_view key_state(const KeyRecord& key, bool unfinished,
                           const AccountRecord& account, UnixTime now) noexcept;

// `state`: key_state().
std::string key_json(const KeyRecord& key, const AccountRecord& account,
                     const PlanTable& plans, std::string_view state);

// `period` must be kept_at(today).
std::string usage_json(const AccountUsage& usage, const PlanTable& plans,
                       const UsagePeriod& period);

}  // namespace petstore::api
