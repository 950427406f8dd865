#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "date.h"
#include "error.h"
#include "plan.h"

namespace petstore::api {

using Millis = std::int64_t;  // Unix time in milliseconds, by Redis's clock

// One of an account's windows after a decision.
struct Window {
    std::int64_t limit = 0;  // 0: this window has none
    std::int64_t used = 0;
    Millis reset = 0;  // when it ends

    std::int64_t remaining() const noexcept
    {
        return used < limit ? limit - used : 0;
    }

    // Whether at least `units` are left.
    bool has(std::int64_t units) const noexcept
    {
        return limit == 0 || remaining() >= units;
    }
};

enum class Verdict { admitted, limited, banned };

// Redis's decision on one request: admitted (charged to all windows) or denied
// (charged to none).
struct Decision {
    Verdict verdict = Verdict::limited;
    Window minute;
    Window day;
    Window month;           // the calendar month in UTC
    std::int64_t cost = 1;  // of the request, in units
    Millis ban_until = 0;   // if banned
    Millis now = 0;         // Redis's clock
};

// What admission has done with a request, as in $petstore_limit_status.
enum class LimitStatus {
    passed,
    limited,
    banned,
    denied,  // no valid key
    unavailable,
    limited_dry_run,
    banned_dry_run,
    none,  // nothing yet
};
inline constexpr auto kLimitStatuses =
    static_cast<std::size_t>(LimitStatus::none);

// Such as "LIMITED_DRY_RUN"; empty for none.
std::string_view to_string(LimitStatus status) noexcept;

// All windows, from the shortest to the longest.
struct WindowKind {
    Window Decision::*window;
    std::string_view name;
};
inline constexpr WindowKind kWindows[] = {{&Decision::minute, "minute"},
                                          {&Decision::day, "day"},
                                          {&Decision::month, "month"}};

// Of petstore_limit_headers windows: for each of kWindows its limit, what
// remains of it, and when it ends.
inline constexpr std::array<std::string_view, 9> kWindowHeaders = {
    "X-RateLimit-Limit-Minute",  "X-RateLimit-Remaining-Minute",
    "X-RateLimit-Reset-Minute",  "X-RateLimit-Limit-Day",
    "X-RateLimit-Remaining-Day", "X-RateLimit-Reset-Day",
    "X-RateLimit-Limit-Month",   "X-RateLimit-Remaining-Month",
    "X-RateLimit-Reset-Month"};

// The cost of a request in units: a plain decimal number from 1 to kMaxCost;
// nullopt otherwise.
inline constexpr std::int64_t kMaxCost = 10'000;
std::optional<std::int64_t> parse_cost(std::string_view text) noexcept;

// Whether the request was denied because it costs more than a limit allows in a
// whole window: no later request of that cost can be admitted either.
bool exceeds_plan(const Decision& decision) noexcept;

// The values of the X-RateLimit headers.
struct RateView {
    std::int64_t limit = 0;
    std::int64_t remaining = 0;
    UnixTime reset = 0;  // seconds, rounded up
};

// Admitted, or above the plan: the window with the least left, or on a tie the
// one that resets later. Limited: the violated window with 0 remaining; of
// several, the one that resets last. Banned: the end of the ban.
RateView rate_view(const Decision& decision) noexcept;

// When a denied account may retry: the end of the ban or of the violated
// window; of several, the latest end.
Millis denial_end(const Decision& decision) noexcept;

// Whole seconds from `now` to `end`, rounded up, at least 1. Not computed from
// the rounded Reset, which could exceed the window by a second.
std::int64_t retry_after(Millis end, Millis now) noexcept;

// The rate_limit_exceeded, api_key_banned or cost_exceeds_plan error. Its
// message says which limit was hit and when to retry.
Error denial(const Decision& decision, Millis now);

UnixTime seconds_up(Millis time) noexcept;

// When accounts are banned and for how long. More than `threshold` denials
// within `window` cause a ban of `duration`. Each further ban within 24 hours
// lasts twice as long, up to `max`. Times are in seconds.
struct BanPolicy {
    bool enabled = true;
    std::int64_t threshold = 100;
    std::int64_t window = 60;
    std::int64_t duration = 300;
    std::int64_t max = 3600;

    // Never below the minute limit: that many denials never cause a ban.
    std::int64_t threshold_for(std::int64_t minute_limit) const noexcept
    {
        return threshold > minute_limit ? threshold : minute_limit;
    }
};

}  // namespace petstore::api
