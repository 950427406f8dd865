#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "account.h"
#include "key.h"
#include "plan.h"
#include "usage.h"

namespace petstore::api {

// The JSON objects of administration, for `petstorectl --json`, petstore_usage
// and the admin API. What is absent is null. Throw std::bad_alloc.

std::string account_json(const AccountRecord& account,
                         std::optional<Day> last_used);

// What key_state() returns; the key or its account may be disabled.
inline constexpr std::string_view kKeyStates[] = {"usable", "disabled",
                                                  "expired", "unfinished"};
std::string_view key_state(const KeyRecord& key, bool unfinished,
                           const AccountRecord& account, UnixTime now) noexcept;

// `state`: key_state().
// `secret`: only when the key is created; shown as `key` unless empty.
std::string key_json(const KeyRecord& key, const AccountRecord& account,
                     const PlanTable& plans, std::string_view state,
                     std::string_view secret = {});

// `source`: "redis", "nginx.conf" or "built-in". A limit of 0 is none.
std::string plan_json(std::string_view name, const Limits& limits,
                      std::string_view source);

// `period` must be kept_at(today).
std::string usage_json(const AccountUsage& usage, const PlanTable& plans,
                       const UsagePeriod& period);

// What petstore_usage answers for a key with this plan and these limits. Only
// the account's id is shown of its record. `days` must be all of this month.
std::string own_usage_json(const AccountUsage& usage, std::string_view plan,
                           const Limits& limits);

}  // namespace petstore::api
