#include "api/limit.h"

#include <string>
#include <tuple>

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

TEST_CASE("the window to report, of three and for any cost", "[limit]")
{
    constexpr Millis kMinuteEnd = kNow + 37'000;
    constexpr Millis kDayEnd = kNow + 80'000'000;
    constexpr Millis kMonthEnd = kNow + 2'000'000'000;
    struct Case {
        Verdict verdict;
        std::int64_t cost;
        Window minute, day, month;  // limit, used; 0: no such window
        std::int64_t limit, remaining;
        Millis reset;
    };
    constexpr Verdict kAdmitted = Verdict::admitted;
    constexpr Verdict kLimited = Verdict::limited;
    const Case cases[] = {
        // The month counts only where it has a limit.
        {kAdmitted, 1, {60, 1}, {1000, 1}, {0, 900}, 60, 59, kMinuteEnd},
        {kAdmitted, 1, {60, 1}, {1000, 1}, {20000, 900}, 60, 59, kMinuteEnd},
        {kAdmitted,
         1,
         {60, 1},
         {1000, 1},
         {20000, 19950},
         20000,
         50,
         kMonthEnd},
        {kAdmitted, 1, {60, 1}, {1000, 990}, {20000, 19980}, 1000, 10, kDayEnd},
        // A tie: the later reset.
        {kAdmitted,
         1,
         {60, 10},
         {1000, 900},
         {20000, 19950},
         20000,
         50,
         kMonthEnd},
        {kAdmitted,
         1,
         {60, 10},
         {1000, 950},
         {20000, 19950},
         20000,
         50,
         kMonthEnd},
        {kAdmitted, 1, {60, 10}, {1000, 950}, {0, 0}, 1000, 50, kDayEnd},
        {kAdmitted,
         1,
         {60, 60},
         {1000, 1000},
         {20000, 20000},
         20000,
         0,
         kMonthEnd},
        // Admitted with less left than the next such request would need.
        {kAdmitted, 10, {60, 55}, {1000, 993}, {20000, 0}, 60, 5, kMinuteEnd},
        {kAdmitted, 10, {60, 55}, {1000, 997}, {20000, 0}, 1000, 3, kDayEnd},
        // Denied by one window.
        {kLimited, 1, {60, 60}, {1000, 100}, {20000, 100}, 60, 0, kMinuteEnd},
        {kLimited, 1, {60, 10}, {1000, 1000}, {20000, 1000}, 1000, 0, kDayEnd},
        {kLimited,
         1,
         {60, 10},
         {1000, 100},
         {20000, 20000},
         20000,
         0,
         kMonthEnd},
        {kLimited,
         1,
         {60, 10},
         {1000, 100},
         {20000, 20001},
         20000,
         0,
         kMonthEnd},
        // By several: the latest reset, whatever is left in each.
        {kLimited,
         1,
         {60, 60},
         {1000, 1000},
         {20000, 20000},
         20000,
         0,
         kMonthEnd},
        {kLimited, 1, {60, 60}, {1000, 1000}, {20000, 19999}, 1000, 0, kDayEnd},
        {kLimited, 10, {60, 60}, {1000, 995}, {20000, 0}, 1000, 0, kDayEnd},
        {kLimited,
         10,
         {60, 58},
         {1000, 995},
         {20000, 19991},
         20000,
         0,
         kMonthEnd},
        // Some left, but less than the request costs.
        {kLimited, 10, {60, 51}, {1000, 100}, {0, 0}, 60, 0, kMinuteEnd},
        {kLimited, 10, {60, 50}, {1000, 991}, {0, 0}, 1000, 0, kDayEnd},
        {kLimited,
         10,
         {60, 0},
         {1000, 500},
         {20000, 19991},
         20000,
         0,
         kMonthEnd},
        {kLimited, 60, {60, 1}, {1000, 900}, {0, 0}, 60, 0, kMinuteEnd},
        {kLimited, 60, {60, 1}, {1000, 941}, {0, 0}, 1000, 0, kDayEnd},
        // A cost above a limit: what is left, as on success.
        {kLimited, 61, {60, 1}, {1000, 900}, {0, 0}, 60, 59, kMinuteEnd},
        {kLimited, 61, {60, 1}, {1000, 990}, {0, 0}, 1000, 10, kDayEnd},
        {kLimited, 501, {1000, 1}, {1000, 1}, {500, 7}, 500, 493, kMonthEnd},
        {kLimited, 61, {60, 60}, {1000, 60}, {0, 0}, 60, 0, kMinuteEnd},
    };
    for (Case c : cases) {
        c.minute.reset = kMinuteEnd;
        c.day.reset = kDayEnd;
        c.month.reset = kMonthEnd;
        CAPTURE(c.cost, c.minute.used, c.day.used, c.month.limit, c.month.used);
        Decision decision;
        decision.verdict = c.verdict;
        decision.cost = c.cost;
        decision.minute = c.minute;
        decision.day = c.day;
        decision.month = c.month;
        check_view(rate_view(decision), c.limit, c.remaining,
                   seconds_up(c.reset));
        if (c.verdict == Verdict::limited) {
            CHECK(denial_end(decision) == c.reset);
        }
    }
}

TEST_CASE("a cost exceeds a plan if a whole window does not have it", "[limit]")
{
    Decision decision = decision_of(Verdict::limited, 1, 1);
    for (const auto& [cost, month, exceeds] :
         {std::tuple(1, 0, false), std::tuple(60, 0, false),
          std::tuple(61, 0, true), std::tuple(1001, 0, true),
          std::tuple(60, 60, false), std::tuple(60, 59, true),
          std::tuple(10000, 20000, true)}) {
        CAPTURE(cost, month);
        decision.cost = cost;
        decision.month.limit = month;
        CHECK(exceeds_plan(decision) == exceeds);
    }
    // A ban comes first.
    decision.verdict = Verdict::banned;
    CHECK_FALSE(exceeds_plan(decision));
}

TEST_CASE("costs are plain numbers from 1 to 10000", "[limit]")
{
    CHECK(parse_cost("1") == 1);
    CHECK(parse_cost("10000") == 10'000);
    for (const char* text :
         {"", "0", "-1", "+1", "01", "1.0", "1e3", " 1", "1 ", "10001", "x",
          "99999999999999999999", "1\n"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_cost(text));
    }
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

    Decision monthly = decision_of(Verdict::limited, 10, 100);
    monthly.month = {20000, 20000, kNow + 2'000'000'000};
    check_denial(
        monthly, kNow, ErrorCode::rate_limit_exceeded,
        "Rate limit exceeded: 20000 requests per month. Retry in 2000000 seconds.");

    Decision costly = decision_of(Verdict::limited, 51, 100);
    costly.cost = 10;
    check_denial(
        costly, kNow, ErrorCode::rate_limit_exceeded,
        "Rate limit exceeded: 60 requests per minute, and this request counts as 10. Retry in 37 seconds.");
    costly.cost = 61;
    check_denial(
        costly, kNow, ErrorCode::cost_exceeds_plan,
        "The cost of this request, 61, exceeds the limit of 60 requests per minute.");
    costly.minute.limit = 2000;
    costly.cost = 1500;
    check_denial(
        costly, kNow, ErrorCode::cost_exceeds_plan,
        "The cost of this request, 1500, exceeds the limit of 1000 requests per day.");
    costly.month.limit = 900;
    check_denial(
        costly, kNow, ErrorCode::cost_exceeds_plan,
        "The cost of this request, 1500, exceeds the limit of 900 requests per month.");

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
    CHECK(policy.threshold_for(60) == 100);
    CHECK(policy.threshold_for(100) == 100);
    CHECK(policy.threshold_for(300) == 300);
}
