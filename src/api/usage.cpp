#include "usage.h"

#include <algorithm>

namespace petstore::api {

namespace {

Day start_of(Day day, UsagePeriod::Step step) noexcept
{
    return step == UsagePeriod::Step::month ? first_of_month(day) : day;
}

Day next(Day start, UsagePeriod::Step step) noexcept
{
    return step == UsagePeriod::Step::month ? first_of_next_month(start)
                                            : start + 1;
}

Window window_of(const AccountUsage::Counter& counter, std::int64_t limit,
                 Millis end) noexcept
{
    return {limit, counter.used, counter.reset ? counter.reset : end};
}

std::int64_t admitted_between(const AccountUsage& usage, Day from,
                              Day end) noexcept
{
    std::int64_t sum = 0;
    for (const UsageCount& day : usage.days) {
        sum += day.start >= from && day.start < end ? day.admitted : 0;
    }
    return sum;
}

}  // namespace

UsagePeriod UsagePeriod::kept_at(Day today) const noexcept
{
    return {std::max(from, first_of_month(today - kUsageKept)),
            std::min(to, today), step};
}

std::vector<UsageCount> usage_counts(const AccountUsage& usage,
                                     const UsagePeriod& period)
{
    if (period.to < period.from) {  // it has not begun
        return {};
    }
    const Day first = day_of(usage.account.created);
    const Day last =
        usage.account.deleted ? day_of(usage.account.deleted) : period.to;
    auto used = usage.days.begin();
    std::vector<UsageCount> counts;
    for (Day start = start_of(period.from, period.step); start <= period.to;
         start = next(start, period.step)) {
        const Day end = next(start, period.step);
        UsageCount count{start};
        bool any = first < end && last >= start;
        for (; used != usage.days.end() && used->start < end; ++used) {
            if (used->start >= period.from && used->start <= period.to) {
                count.admitted += used->admitted;
                count.denied += used->denied;
                any = true;
            }
        }
        if (any) {
            counts.push_back(count);
        }
    }
    return counts;
}

std::vector<UsageWindow> usage_windows(const AccountUsage& usage,
                                       const Limits& limits)
{
    if (usage.account.deleted != 0) {
        return {};
    }
    const Millis now = usage.now;
    std::vector<UsageWindow> windows = {
        {"minute",
         window_of(usage.minute, limits.minute, now + kMinuteSeconds * 1000)},
        {"day", window_of(usage.day, limits.day, now + kDaySeconds * 1000)}};
    if (limits.has_month()) {
        const Day end = first_of_next_month(day_of(now / 1000));
        windows.push_back({"month", window_of(usage.month, limits.month,
                                              end * kDaySeconds * 1000)});
    }
    return windows;
}

std::int64_t admitted_on(const AccountUsage& usage, Day day) noexcept
{
    return admitted_between(usage, day, day + 1);
}

std::int64_t admitted_in_month(const AccountUsage& usage, Day day) noexcept
{
    return admitted_between(usage, first_of_month(day),
                            first_of_next_month(day));
}

bool reaches(const Window& window, int percent) noexcept
{
    constexpr std::int64_t kAll = 100;
    // Without an overflow: a counter may be up to 2^53.
    return window.used * kAll >= window.limit * percent;
}

}  // namespace petstore::api
