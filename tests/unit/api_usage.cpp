#include "api/usage.h"

#include <string>
#include <tuple>
#include <vector>

#include "catch.h"

using namespace petstore::api;

namespace {

constexpr Day kToday = 20782;  // 2026-11-25
constexpr Millis kNow = kToday * 86'400'000 + 3'600'000;

Day day(const char* text)
{
    return day_of(parse_date(text).value());
}

// Created on 2026-11-10.
AccountUsage usage()
{
    AccountUsage usage;
    usage.account.created = parse_date("2026-11-10T12:00:00Z").value();
    usage.now = kNow;
    return usage;
}

using Counts = std::vector<std::tuple<std::string, std::int64_t, std::int64_t>>;

Counts counts(const AccountUsage& usage, const UsagePeriod& period)
{
    Counts counts;
    for (const auto& count : usage_counts(usage, period)) {
        counts.emplace_back(period.step == UsagePeriod::Step::month
                                ? iso_month(count.start)
                                : iso_date(count.start),
                            count.admitted, count.denied);
    }
    return counts;
}

}  // namespace

TEST_CASE("a period ends today and starts where records begin", "[usage]")
{
    const UsagePeriod all{0, kLastDay};
    const UsagePeriod kept = all.kept_at(kToday);
    CHECK(iso_date(kept.to) == "2026-11-25");
    // 400 days ago was 2025-10-21; its month ended less than 400 days ago.
    CHECK(iso_date(kept.from) == "2025-10-01");
    const UsagePeriod month{day("2026-11-01"), day("2026-11-20")};
    CHECK(month.kept_at(kToday).from == month.from);
    CHECK(month.kept_at(kToday).to == month.to);
    const UsagePeriod later{kToday + 1, kToday + 2};
    CHECK(later.kept_at(kToday).to < later.kept_at(kToday).from);
    CHECK(usage_counts(usage(), later.kept_at(kToday)).empty());
    const UsagePeriod months{kToday + 1, kToday + 2, UsagePeriod::Step::month};
    CHECK(usage_counts(usage(), months.kept_at(kToday)).empty());
}

TEST_CASE("usage has each day on which the account existed", "[usage]")
{
    AccountUsage used = usage();
    used.days = {{day("2026-11-08"), 1, 0},  // before it was created
                 {day("2026-11-11"), 20, 3},
                 {day("2026-11-13"), 400, 0}};
    const UsagePeriod period{day("2026-11-07"), day("2026-11-12")};
    const Counts first = {{"2026-11-08", 1, 0},
                          {"2026-11-10", 0, 0},
                          {"2026-11-11", 20, 3},
                          {"2026-11-12", 0, 0}};
    CHECK(counts(used, period) == first);
    used.account.deleted = parse_date("2026-11-11T00:00:00Z").value();
    CHECK(counts(used, period) == Counts(first.begin(), first.end() - 1));
}

TEST_CASE("usage by month counts the days of the period only", "[usage]")
{
    AccountUsage used = usage();
    used.account.created = parse_date("2026-09-30").value();
    used.days = {{day("2026-09-14"), 1, 1},
                 {day("2026-09-15"), 2, 0},
                 {day("2026-11-01"), 4, 5},
                 {day("2026-11-20"), 8, 5},
                 {day("2026-11-21"), 16, 0}};
    CHECK(counts(used, {day("2026-09-15"), day("2026-11-20"),
                        UsagePeriod::Step::month})
          == Counts{{"2026-09", 2, 0}, {"2026-10", 0, 0}, {"2026-11", 12, 10}});
    CHECK(counts(used, {day("2026-08-01"), day("2026-08-31"),
                        UsagePeriod::Step::month})
              .empty());
}

TEST_CASE("usage shows the account's windows", "[usage]")
{
    AccountUsage used = usage();
    used.minute = {59, kNow + 500};
    used.month = {7, kNow + 1};
    auto windows = usage_windows(used, {60, 1000});
    REQUIRE(windows.size() == 2);
    CHECK(windows[0].name == std::string("minute"));
    CHECK(windows[0].window.remaining() == 1);
    CHECK(windows[0].window.reset == kNow + 500);
    CHECK(windows[1].name == std::string("day"));
    CHECK(windows[1].window.used == 0);
    CHECK(windows[1].window.reset == kNow + 86'400'000);

    used.month = {};
    windows = usage_windows(used, {60, 1000, 5});
    REQUIRE(windows.size() == 3);
    used.account.deleted = 1;
    CHECK(usage_windows(used, {60, 1000, 5}).empty());
    CHECK(windows[2].name == std::string("month"));
    CHECK(windows[2].window.reset == day("2026-12-01") * 86'400'000);
}

TEST_CASE("a window reaches a share of its limit", "[usage]")
{
    CHECK(reaches({60, 48, 0}, 80));
    CHECK_FALSE(reaches({60, 47, 0}, 80));
    CHECK(reaches({3, 1, 0}, 33));
    CHECK_FALSE(reaches({3, 1, 0}, 34));
    CHECK(reaches({10, std::int64_t{1} << 53, 0}, 100));
    CHECK_FALSE(reaches({kMaxLimit, 1, 0}, 1));
}
