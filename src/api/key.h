#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "date.h"
#include "router.h"

namespace petstore::api {

enum Scope : unsigned { kScopeRead = 1, kScopeWrite = 2, kScopeAll = 3 };

// What a key permits and until when. Checked for every request.
struct KeyRights {
    bool disabled = false;
    unsigned scopes = kScopeAll;  // read and write; others: KeyRecord
    std::optional<UnixTime> expires;

    bool usable_at(UnixTime now) const noexcept
    {
        return !disabled && (!expires || now < *expires);
    }

    bool allows(Operation operation) const noexcept
    {
        return operation == Operation::none
               || (scopes & (is_get(operation) ? kScopeRead : kScopeWrite));
    }

    bool allows(Method method) const noexcept
    {
        return scopes & (is_read(method) ? kScopeRead : kScopeWrite);
    }
};

// The plan and the numbers that a key or an account has of its own. Which of
// them are in force: PlanTable::plan_in_force().
struct OwnPlan {
    std::string plan;  // empty: none
    std::optional<std::int64_t> per_minute;
    std::optional<std::int64_t> per_day;
    std::optional<std::int64_t> per_month;

    // Of a record that has more: these members alone.
    OwnPlan& own_plan() noexcept { return *this; }
    const OwnPlan& own_plan() const noexcept { return *this; }
};

// The metadata of an API key; never the key itself.
struct KeyRecord : KeyRights, OwnPlan {
    std::string id;
    std::string account;         // owns the counters and bans
    std::string further_scopes;  // separated by commas; see set_scopes()
    std::string label;
    UnixTime created = 0;
    std::string last4;
    std::string replaced_by;  // id of the key that rotation created
    // The account's epoch when the record was written; see docs/redis-keys.md.
    std::int64_t epoch = 0;
};

// Why a request has no valid key. The names are for the operator's log; clients
// get the same message for the last four.
enum class KeyRefusal {
    none,
    missing,
    malformed,
    repeated,  // the header that has it; named "malformed"
    unknown,
    disabled,
    expired
};
std::string_view refusal_name(KeyRefusal refusal) noexcept;  // "" for none

// The longest time that a rotated key still works, in seconds: ten years.
inline constexpr std::int64_t kMaxGrace = std::int64_t{3650} * 24 * 60 * 60;

// Ids of keys and accounts are parts of the names of Redis keys, of log lines
// and of headers: 1 to 64 letters, digits, "-" or "_".
bool is_id(std::string_view text) noexcept;

// The last characters of a key: up to four visible ASCII characters.
bool is_last4(std::string_view text) noexcept;

// A scope is a name of 1 to 64 of "a-z 0-9 : . _ -". "read" and "write" permit
// methods; what others permit is up to the operator.
inline constexpr std::size_t kMaxScopes = 16;
bool is_scope(std::string_view name) noexcept;

// Whether a key has the scope. `further_scopes`: as in KeyRecord.
bool has_scope(const KeyRights& rights, std::string_view further_scopes,
               std::string_view name) noexcept;

// Replaces the scopes of a key by those of a text such as "read,write,admin".
// False, without a change, if a name is invalid or there are too many.
bool set_scopes(KeyRecord& key, std::string_view text);
std::vector<std::string_view> scope_names(const KeyRecord& key);
std::string scopes_text(const KeyRecord& key);

}  // namespace petstore::api
