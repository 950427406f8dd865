#pragma once

#include <cstdint>
#include <map>
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
};

inline constexpr std::int64_t kMinuteSeconds = 60;
inline constexpr std::int64_t kDaySeconds = 86400;

// The largest limit of a plan. Redis's counters and Lua's numbers represent it
// exactly.
inline constexpr std::int64_t kMaxLimit = 1'000'000'000'000;

// 1 to 32 lower-case letters, digits, "-" or "_".
bool is_plan_name(std::string_view name) noexcept;

// Plans by name. A new table holds free, pro and business. enterprise has no
// limits itself and uses the key's.
class PlanTable {
public:
    PlanTable();

    void set(std::string name, Limits limits);

    // All of these, in alphabetical order, and "enterprise". Throws
    // std::bad_alloc.
    std::vector<std::string> names() const;

    // True for the plans in the table and for "enterprise".
    bool knows(std::string_view name) const noexcept;

    // The limits of a key: its own where set, else its plan's. An undefined
    // plan, and enterprise without limits, count as free: an operator's mistake
    // must not lift the limits.
    Limits limits_of(const KeyRecord& key) const noexcept;

private:
    std::map<std::string, Limits, std::less<>> plans_;
};

}  // namespace petstore::api
