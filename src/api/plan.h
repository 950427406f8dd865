#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "key.h"

namespace petstore::api {

struct Limits {
    std::int64_t minute = 0;
    std::int64_t day = 0;
};

inline constexpr std::int64_t kMinuteSeconds = 60;
inline constexpr std::int64_t kDaySeconds = 86400;

// The largest number a plan may grant: Redis's counters and Lua's numbers both
// hold it exactly.
inline constexpr std::int64_t kMaxLimit = 1'000'000'000'000;

// Plans by name. A new table holds free, pro and business; enterprise has no
// numbers of its own and lives on those of the key.
class PlanTable {
public:
    PlanTable();

    void set(std::string name, Limits limits);

    // Known by name: in the table, or "enterprise".
    bool knows(std::string_view name) const noexcept;

    // The numbers for a key: its own where it has them, else its plan's. A plan
    // that nobody defined, and enterprise without numbers, count as free:
    // a mistake of the operator must not open the gate.
    Limits limits_of(const KeyRecord& key) const noexcept;

private:
    std::map<std::string, Limits, std::less<>> plans_;
};

}  // namespace petstore::api
