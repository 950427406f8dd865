#include "limit.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "text.h"

namespace petstore::api {
namespace {

// What a limited request lacked in at least one window. 0 for other requests.
std::int64_t lacked(const Decision& decision) noexcept
{
    return decision.verdict == Verdict::limited && !exceeds_plan(decision)
               ? decision.cost
               : 0;
}

// The window to report to the client: the one with the least left, or on a tie
// the one that resets later. Where a limited request found less than it needed,
// nothing is left, so the same rule finds the violated window. Not a loop:
// every request needs it twice.
const Window& tightest(const Decision& decision) noexcept
{
    const std::int64_t needed = lacked(decision);
    const Window* tightest = &decision.minute;
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    const auto compare = [&](const Window& window) {
        if (window.limit == 0) {
            return;
        }
        const std::int64_t remaining = window.remaining();
        const std::int64_t left = remaining < needed ? 0 : remaining;
        if (left < least || (left == least && window.reset > tightest->reset)) {
            tightest = &window;
            least = left;
        }
    };
    compare(decision.minute);
    compare(decision.day);
    compare(decision.month);
    return *tightest;
}

void append_count(std::string& out, std::int64_t count, std::string_view noun)
{
    append_int(out, count);
    out.push_back(' ');
    out.append(noun);
    if (count != 1) {
        out.push_back('s');
    }
}

// "60 requests per minute"
void append_limit(std::string& out, const Decision& decision,
                  const Window& window)
{
    append_count(out, window.limit, "request");
    for (const WindowKind& kind : kWindows) {
        if (&(decision.*kind.window) == &window) {
            out.append(" per ").append(kind.name);
        }
    }
}

Error cost_exceeds_plan(const Decision& decision)
{
    const Window* lowest = &decision.minute;
    for (const WindowKind& kind : kWindows) {
        const Window& window = decision.*kind.window;
        if (window.limit != 0 && window.limit < lowest->limit) {
            lowest = &window;
        }
    }
    std::string message = "The cost of this request, ";
    append_int(message, decision.cost);
    message.append(", exceeds the limit of ");
    append_limit(message, decision, *lowest);
    message.push_back('.');
    return {ErrorCode::cost_exceeds_plan, std::move(message)};
}

// By LimitStatus.
constexpr std::string_view kStatusNames[] = {
    "PASSED",      "LIMITED",         "BANNED",         "DENIED",
    "UNAVAILABLE", "LIMITED_DRY_RUN", "BANNED_DRY_RUN", ""};
static_assert(std::size(kStatusNames) == kLimitStatuses + 1);

}  // namespace

std::string_view to_string(LimitStatus status) noexcept
{
    return kStatusNames[static_cast<std::size_t>(status)];
}

std::optional<std::int64_t> parse_cost(std::string_view text) noexcept
{
    const auto cost = parse_int64(text);
    return cost && *cost >= 1 && *cost <= kMaxCost ? cost : std::nullopt;
}

bool exceeds_plan(const Decision& decision) noexcept
{
    return decision.verdict == Verdict::limited
           && std::any_of(std::begin(kWindows), std::end(kWindows),
                          [&](const WindowKind& kind) {
                              const std::int64_t limit =
                                  (decision.*kind.window).limit;
                              return limit != 0 && limit < decision.cost;
                          });
}

RateView rate_view(const Decision& decision) noexcept
{
    if (decision.verdict == Verdict::banned) {
        return {decision.minute.limit, 0, seconds_up(decision.ban_until)};
    }
    const Window& window = tightest(decision);
    return {window.limit, lacked(decision) == 0 ? window.remaining() : 0,
            seconds_up(window.reset)};
}

Millis denial_end(const Decision& decision) noexcept
{
    return decision.verdict == Verdict::banned ? decision.ban_until
                                               : tightest(decision).reset;
}

std::int64_t retry_after(Millis end, Millis now) noexcept
{
    return std::max<std::int64_t>(seconds_up(end - now), 1);
}

Error denial(const Decision& decision, Millis now)
{
    if (exceeds_plan(decision)) {
        return cost_exceeds_plan(decision);
    }
    const bool banned = decision.verdict == Verdict::banned;
    std::string message;
    if (banned) {
        message =
            "This API key is banned for too many requests over its limit.";
    } else {
        message = "Rate limit exceeded: ";
        append_limit(message, decision, tightest(decision));
        if (decision.cost > 1) {
            message.append(", and this request counts as ");
            append_int(message, decision.cost);
        }
        message.push_back('.');
    }
    message.append(" Retry in ");
    append_count(message, retry_after(denial_end(decision), now), "second");
    message.push_back('.');
    return {banned ? ErrorCode::api_key_banned : ErrorCode::rate_limit_exceeded,
            std::move(message)};
}

UnixTime seconds_up(Millis time) noexcept
{
    return time / 1000 + (time % 1000 > 0 ? 1 : 0);
}

}  // namespace petstore::api
