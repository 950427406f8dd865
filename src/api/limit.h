#pragma once

#include <cstdint>
#include <string>

#include "date.h"
#include "error.h"
#include "plan.h"

namespace petstore::api {

using Millis = std::int64_t;  // Unix time in milliseconds, of Redis's clock

// One of an account's two windows after a decision.
struct Window {
    std::int64_t limit = 0;
    std::int64_t used = 0;
    Millis reset = 0;  // when it ends

    std::int64_t remaining() const noexcept
    {
        return used < limit ? limit - used : 0;
    }
};

enum class Verdict { admitted, limited, banned };

// What Redis said of one request: admitted (both windows charged) or not
// (neither is).
struct Decision {
    Verdict verdict = Verdict::limited;
    Window minute;
    Window day;
    Millis ban_until = 0;  // of banned
    Millis now = 0;        // Redis's clock
};

// The three numbers of the X-RateLimit headers.
struct RateView {
    std::int64_t limit = 0;
    std::int64_t remaining = 0;
    UnixTime reset = 0;  // seconds, rounded up
};

// Admitted: the window with the fewest requests left, on a tie the one that
// resets later. Limited: the violated one, of two the one that resets later,
// with 0 remaining. Banned: the end of the ban.
RateView rate_view(const Decision& decision) noexcept;

// When a denied account may be back: the end of the ban, or of the violated
// window, of two the later one.
Millis denial_end(const Decision& decision) noexcept;

// Whole seconds from `now` until `end`, rounded up, at least 1. Not from the
// rounded Reset: that could tell a second more than a window lasts.
std::int64_t retry_after(Millis end, Millis now) noexcept;

// rate_limit_exceeded or api_key_banned in words: which limit was hit and when
// to come back.
Error denial(const Decision& decision, Millis now);

UnixTime seconds_up(Millis time) noexcept;

// When an account is banned and for how long; all in seconds.
struct BanPolicy {
    bool enabled = true;
    std::int64_t threshold = 100;  // more denials than this in a window …
    std::int64_t window = 60;
    std::int64_t duration =
        300;                  // … ban for so long, doubled each further time
    std::int64_t max = 3600;  // … up to this, within 24 hours

    // An account may always be denied as often as its minute limit.
    std::int64_t threshold_for(const Limits& limits) const noexcept
    {
        return threshold > limits.minute ? threshold : limits.minute;
    }
};

}  // namespace petstore::api
