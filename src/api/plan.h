#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "key.h"

namespace petstore::api {

// Units per window.
struct Limits {
    std::int64_t minute = 0;
    std::int64_t day = 0;
    std::int64_t month = 0;  // 0: no monthly limit

    bool has_month() const noexcept { return month != 0; }

    bool operator==(const Limits& other) const noexcept
    {
        return minute == other.minute && day == other.day
               && month == other.month;
    }
};

// By the names of plans.
using NamedLimits = std::map<std::string, Limits, std::less<>>;

inline constexpr std::int64_t kMinuteSeconds = 60;
inline constexpr std::int64_t kDaySeconds = 86400;

// The largest limit of a plan. Redis's counters and Lua's numbers represent it
// exactly.
inline constexpr std::int64_t kMaxLimit = 1'000'000'000'000;

// 1 to 32 lower-case letters, digits, "-" or "_".
bool is_plan_name(std::string_view name) noexcept;

// Whether a plan may be defined under this name: not "none", which removes a
// plan on the command line, "all" of petstore_allow_plans, nor "unknown", as
// metrics name the plans that no host's configuration has.
bool may_name_plan(std::string_view name) noexcept;

// The plan of a key, and the limits that apply to it.
struct PlanInForce {
    std::string_view plan;  // "free" if neither key nor account has one
    Limits limits;
    // The numbers that replace the plan's: the key's own, else the account's.
    std::optional<std::int64_t> per_minute;
    std::optional<std::int64_t> per_day;
    std::optional<std::int64_t> per_month;
    bool overrides = false;  // the plan or a number is the key's own
};

inline constexpr std::string_view kEnterprise = "enterprise";

// Plans by name. A new table holds free, pro and business. enterprise has no
// limits itself and uses the key's or the account's own.
class PlanTable {
public:
    PlanTable();

    void set(std::string name, Limits limits);

    // The plans that have limits themselves.
    const NamedLimits& plans() const noexcept { return plans_; }

    // All of these, in alphabetical order, and "enterprise". Throws
    // std::bad_alloc.
    std::vector<std::string> names() const;

    // True for the plans in the table and for "enterprise".
    bool knows(std::string_view name) const noexcept;

    // Whether the plan needs numbers of the key or the account: enterprise
    // does, unless nginx.conf or Redis gives it limits.
    bool needs_numbers(std::string_view name) const noexcept;

    // An undefined plan, and enterprise without limits, count as free: an
    // operator's mistake must not lift the limits.
    const Limits& limits_of(std::string_view name) const noexcept;

    // The limit of a window is the first of: the key's own; that of the key's
    // own plan, which decides for every window; the account's own; that of the
    // account's plan. The result refers to the names in its arguments.
    PlanInForce plan_in_force(const OwnPlan& key,
                              const OwnPlan& account) const noexcept;

private:
    NamedLimits plans_;
};

}  // namespace petstore::api
