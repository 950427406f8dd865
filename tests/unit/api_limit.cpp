#include "api/limit.h"

#include <string>

#include "catch.h"

using namespace petstore::api;

namespace {

constexpr Millis kNow = 1'700'000'000'000;

Decision decision_of(Verdict verdict, std::int64_t minute_used,
                     std::int64_t day_used)
{
    Decision decision;
    decision.verdict = verdict;
    decision.minute = {60, minute_used, kNow + 37'000};
    decision.day = {1000, day_used, kNow + 80'000'000};
    return decision;
}

void check_view(const RateView& view, std::int64_t limit,
                std::int64_t remaining, UnixTime reset)
{
    CHECK(view.limit == limit);
    CHECK(view.remaining == remaining);
    CHECK(view.reset == reset);
}

}  // namespace

TEST_CASE("a window reports what is left of its limit", "[limit]")
{
    CHECK(Window{60, 0, 0}.remaining() == 60);
    CHECK(Window{60, 59, 0}.remaining() == 1);
    CHECK(Window{60, 60, 0}.remaining() == 0);
    CHECK(Window{60, 61, 0}.remaining() == 0);
    CHECK(Window{0, 0, 0}.remaining() == 0);
}

TEST_CASE("seconds are rounded up", "[limit]")
{
    CHECK(seconds_up(0) == 0);
    CHECK(seconds_up(1) == 1);
    CHECK(seconds_up(999) == 1);
    CHECK(seconds_up(1000) == 1);
    CHECK(seconds_up(1001) == 2);
    CHECK(seconds_up(1'700'000'000'001) == 1'700'000'001);
    CHECK(seconds_up(-1) == 0);
    CHECK(seconds_up(-1000) == -1);
}

TEST_CASE("admitted: the window with the fewest requests left", "[limit]")
{
    check_view(rate_view(decision_of(Verdict::admitted, 1, 1)), 60, 59,
               1'700'000'037);
    check_view(rate_view(decision_of(Verdict::admitted, 1, 995)), 1000, 5,
               1'700'080'000);
    check_view(rate_view(decision_of(Verdict::admitted, 60, 100)), 60, 0,
               1'700'000'037);
}

TEST_CASE("admitted, a tie: the window that resets later", "[limit]")
{
    Decision decision = decision_of(Verdict::admitted, 30, 970);
    check_view(rate_view(decision), 1000, 30, 1'700'080'000);
    decision.minute.reset = kNow + 90'000'000;
    check_view(rate_view(decision), 60, 30, 1'700'090'000);
    check_view(rate_view(decision_of(Verdict::admitted, 60, 1000)), 1000, 0,
               1'700'080'000);
}

TEST_CASE("limited: the violated window", "[limit]")
{
    check_view(rate_view(decision_of(Verdict::limited, 60, 100)), 60, 0,
               1'700'000'037);
    check_view(rate_view(decision_of(Verdict::limited, 10, 1000)), 1000, 0,
               1'700'080'000);
    // After a plan was reduced, more may be used than the limit.
    check_view(rate_view(decision_of(Verdict::limited, 70, 100)), 60, 0,
               1'700'000'037);
}

TEST_CASE("limited by both: the one that resets later", "[limit]")
{
    Decision decision = decision_of(Verdict::limited, 60, 1000);
    check_view(rate_view(decision), 1000, 0, 1'700'080'000);
    decision.day.reset = kNow + 5'000;
    check_view(rate_view(decision), 60, 0, 1'700'000'037);
}

TEST_CASE("limited: 0 remaining, whatever the numbers", "[limit]")
{
    CHECK(rate_view(decision_of(Verdict::limited, 10, 10)).remaining == 0);
}

TEST_CASE("banned: the end of the ban", "[limit]")
{
    Decision decision = decision_of(Verdict::banned, 10, 10);
    decision.ban_until = kNow + 299'001;
    check_view(rate_view(decision), 60, 0, 1'700'000'300);
}

TEST_CASE("resets are rounded up to seconds", "[limit]")
{
    Decision decision = decision_of(Verdict::admitted, 1, 1);
    decision.minute.reset = kNow + 1;
    CHECK(rate_view(decision).reset == 1'700'000'001);
}

TEST_CASE("Retry-After is never too early and at least 1", "[limit]")
{
    const Millis end = kNow + 37'000;
    CHECK(retry_after(end, kNow) == 37);
    CHECK(retry_after(end, kNow + 1) == 37);
    CHECK(retry_after(end, kNow + 999) == 37);
    CHECK(retry_after(end, kNow + 1000) == 36);
    CHECK(retry_after(end, kNow + 36'999) == 1);
    CHECK(retry_after(end, kNow + 37'000) == 1);
    CHECK(retry_after(end, kNow + 99'000) == 1);
    // Reset would say 61 from here.
    CHECK(retry_after(kNow + 60'400, kNow + 450) == 60);
}

TEST_CASE("the error of each denial", "[limit]")
{
    const auto check_denial = [](const Decision& decision, Millis now,
                                 ErrorCode code, const std::string& message) {
        const Error error = denial(decision, now);
        CHECK(error.code == code);
        CHECK(error.message.text() == message);
    };
    check_denial(
        decision_of(Verdict::limited, 60, 100), kNow,
        ErrorCode::rate_limit_exceeded,
        "Rate limit exceeded: 60 requests per minute. Retry in 37 seconds.");
    check_denial(
        decision_of(Verdict::limited, 60, 100), kNow + 36'500,
        ErrorCode::rate_limit_exceeded,
        "Rate limit exceeded: 60 requests per minute. Retry in 1 second.");
    check_denial(
        decision_of(Verdict::limited, 60, 1000), kNow,
        ErrorCode::rate_limit_exceeded,
        "Rate limit exceeded: 1000 requests per day. Retry in 80000 seconds.");

    Decision single = decision_of(Verdict::limited, 1, 1);
    single.minute.limit = 1;
    check_denial(
        single, kNow, ErrorCode::rate_limit_exceeded,
        "Rate limit exceeded: 1 request per minute. Retry in 37 seconds.");

    Decision banned = decision_of(Verdict::banned, 60, 100);
    banned.ban_until = kNow + 300'000;
    check_denial(
        banned, kNow, ErrorCode::api_key_banned,
        "This API key is banned for too many requests over its limit. Retry in 300 seconds.");
}

TEST_CASE("the default ban policy", "[limit]")
{
    const BanPolicy policy;
    CHECK(policy.enabled);
    CHECK(policy.window == 60);
    CHECK(policy.duration == 300);
    CHECK(policy.max == 3600);
    CHECK(policy.threshold_for({60, 1000}) == 100);
    CHECK(policy.threshold_for({100, 1000}) == 100);
    CHECK(policy.threshold_for({300, 10000}) == 300);
}
