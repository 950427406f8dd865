#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "date.h"
#include "router.h"

namespace petstore::api {

enum Scopes : unsigned { kScopeRead = 1, kScopeWrite = 2, kScopeAll = 3 };

// What a key permits and until when. Checked for every request.
struct KeyRights {
    bool disabled = false;
    unsigned scopes = kScopeAll;
    std::optional<UnixTime> expires;

    bool usable_at(UnixTime now) const noexcept
    {
        return !disabled && (!expires || now < *expires);
    }

    bool allows(Operation operation) const noexcept
    {
        return operation == Operation::none
               || (scopes & (is_read(operation) ? kScopeRead : kScopeWrite));
    }

    bool allows(Method method) const noexcept
    {
        return scopes & (is_read(method) ? kScopeRead : kScopeWrite);
    }
};

// What a key or an account has of its own; see PlanTable.
struct OwnPlan {
    std::string plan;  // empty: none
    std::optional<std::int64_t> per_minute;
    std::optional<std::int64_t> per_day;
    std::optional<std::int64_t> per_month;
};

// The metadata of an API key; never the key itself.
struct KeyRecord : KeyRights {
    std::string id;
    std::string account;  // owns the counters and bans
    std::string plan = "free";
    std::optional<std::int64_t> per_minute;  // overrides the plan's
    std::optional<std::int64_t> per_day;
    std::string label;
    UnixTime created = 0;
    std::string last4;
    std::string replaced_by;  // id of the key that rotation created
    // The account's epoch when the record was written; see docs/redis-keys.md.
    std::int64_t epoch = 0;
};

// Why a request has no valid key. The names are for the operator's log; clients
// get the same message for the last four.
enum class KeyRefusal { none, missing, malformed, unknown, disabled, expired };
std::string_view refusal_name(KeyRefusal refusal) noexcept;  // "" for none

// Ids of keys and accounts are parts of the names of Redis keys, of log lines
// and of headers: 1 to 64 letters, digits, "-" or "_".
bool is_id(std::string_view text) noexcept;

// The last characters of a key: up to four visible ASCII characters.
bool is_last4(std::string_view text) noexcept;

// "read,write" ↔ bits; nullopt for an unknown or empty word.
std::optional<unsigned> parse_scopes(std::string_view text) noexcept;
std::string_view scopes_text(unsigned scopes) noexcept;

}  // namespace petstore::api
