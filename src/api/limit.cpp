#include "limit.h"

#include <algorithm>
#include <utility>

#include "text.h"

namespace petstore::api {
namespace {

const Window& later(const Window& a, const Window& b) noexcept
{
    return b.reset > a.reset ? b : a;
}

// The window to report to the client: the one with fewer requests left. A
// denied request has exhausted a window, so the same rule finds that one.
const Window& tightest(const Decision& decision) noexcept
{
    const std::int64_t minute = decision.minute.remaining();
    const std::int64_t day = decision.day.remaining();
    if (minute == day) {
        return later(decision.minute, decision.day);
    }
    return minute < day ? decision.minute : decision.day;
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

}  // namespace

RateView rate_view(const Decision& decision) noexcept
{
    if (decision.verdict == Verdict::banned) {
        return {decision.minute.limit, 0, seconds_up(decision.ban_until)};
    }
    const Window& window = tightest(decision);
    const bool admitted = decision.verdict == Verdict::admitted;
    return {window.limit, admitted ? window.remaining() : 0,
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
    const bool banned = decision.verdict == Verdict::banned;
    std::string message;
    if (banned) {
        message =
            "This API key is banned for too many requests over its limit.";
    } else {
        const Window& window = tightest(decision);
        message = "Rate limit exceeded: ";
        append_count(message, window.limit, "request");
        message.append(&window == &decision.day ? " per day." : " per minute.");
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
