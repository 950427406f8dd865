#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "account.h"
#include "date.h"
#include "limit.h"

namespace petstore::api {

// The days in UTC that a report covers.
struct UsagePeriod {
    enum class Step { day, month };

    Day from = 0;
    Day to = 0;  // included
    Step step = Step::day;

    // No day: for windows and the last use alone.
    static constexpr UsagePeriod none() noexcept { return {0, -1, Step::day}; }

    // Without days after `today`, and without those of months that Redis keeps
    // no more. May contain no day: to < from.
    UsagePeriod kept_at(Day today) const noexcept;
};

// In days: a month's usage is kept this long after its end. What belongs to its
// first day, such as the record of an account deleted on it, is kept longer.
inline constexpr Day kUsageKept = 400;
inline constexpr Day kUsageKeptOfDay = kUsageKept + 31;  // as KEEP in usage.lua

// What an account used in a day or month.
struct UsageCount {
    Day start = 0;
    std::int64_t admitted = 0;  // units
    std::int64_t denied = 0;    // requests
};

// What Redis knows of an account's requests, without its limits.
struct AccountUsage {
    struct Counter {
        std::int64_t used = 0;
        Millis reset = 0;  // 0: no open window
    };

    AccountRecord account;
    std::int64_t epoch = 0;  // of the account; 0 if it has no state
    Counter minute;
    Counter day;
    Counter month;
    std::int64_t strikes = 0;  // denials in the window of bans
    std::int64_t bans = 0;
    Millis banned_until = 0;  // 0: not banned
    std::optional<Day> last_used;
    std::vector<UsageCount> days;  // those with requests, ascending
    Millis now = 0;                // Redis's clock
};

// One count for each day or month of the period in which the account existed,
// and for others that have requests. `period` must be kept_at(today).
std::vector<UsageCount> usage_counts(const AccountUsage& usage,
                                     const UsagePeriod& period);

struct UsageWindow {
    const char* name;  // "minute", "day" or "month"
    Window window;
};

// The account's windows; a month only if it has a limit, and none of a deleted
// account, whose counters remain. A window that is not open would end one
// length from now.
std::vector<UsageWindow> usage_windows(const AccountUsage& usage,
                                       const Limits& limits);

// The units admitted on a day, and in its month, of which `days` must have all.
std::int64_t admitted_on(const AccountUsage& usage, Day day) noexcept;
std::int64_t admitted_in_month(const AccountUsage& usage, Day day) noexcept;

// Whether `percent` of the window are used.
bool reaches(const Window& window, int percent) noexcept;

}  // namespace petstore::api
