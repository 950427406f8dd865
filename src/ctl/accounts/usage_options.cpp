#include "usage_options.h"

#include <algorithm>

#include "../command_line/values.h"
#include "../exit.h"

namespace petstore::ctl {

namespace {

// A duration counts back from now.
api::Day day_option(const char* name, const std::string& value,
                    api::UnixTime now)
{
    const char unit = value.empty() ? '0' : value.back();
    if (unit < '0' || unit > '9') {
        if (const auto duration = api::parse_duration(value)) {
            return api::day_of(now - std::min(*duration, now));
        }
    }
    const auto moment = api::parse_moment(value, now);
    if (!moment) {
        throw UsageError(
            std::string(name)
            + " must be a date like 2026-11-25, a time like 2026-11-25T12:00:00Z, or a duration back from now like 30d");
    }
    return api::day_of(*moment);
}

// The first of the last `count` days or months, of which `today` is in the last
// one.
api::Day start_of_last(std::int64_t count, api::UsagePeriod::Step step,
                       api::Day today)
{
    if (step == api::UsagePeriod::Step::day) {
        return today - count + 1;
    }
    api::Day start = api::first_of_month(today);
    for (; count > 1; --count) {
        start = api::first_of_month(start - 1);
    }
    return start;
}

}  // namespace

void UsageOptions::add_to(CLI::App& command)
{
    command.add_option("ACCOUNT", accounts,
                       "Ids of accounts; without any, all accounts");
    check_external_id(add_value(command, "--external-id", "ID", external_ids,
                                "The account with this external id"))
        ->allow_extra_args(false);
    auto* const first = add_value(
        command, "--from", "DATE", from,
        "First day, in UTC: 2026-11-01, or 30d for 30 days ago; by default that of --to's month, or of this month if --to is later");
    auto* const end = add_value(command, "--to", "DATE", to,
                                "Last day, included; by default today");
    add_value(command, "--last", "N", last,
              "The last N days, or months with --by month, this one included")
        ->excludes(first)
        ->excludes(end);
    add_value(command, "--by", "STEP", by, "day or month")
        ->capture_default_str();
    add_value(
        command, "--over", "PERCENT", over,
        "Only accounts that have used this share of a window now, in percent");
    command.add_flag("--csv", csv, "Print CSV");
}

// From the first to the last day as given: they may be the wrong way round.
api::UsagePeriod UsageOptions::given_period(api::UnixTime now) const
{
    if (by != "day" && by != "month") {
        throw UsageError("--by must be day or month");
    }
    constexpr std::int64_t kMost = 1000;
    const api::Day today = api::day_of(now);
    api::UsagePeriod period;
    period.step = by == "month" ? api::UsagePeriod::Step::month
                                : api::UsagePeriod::Step::day;
    period.to = to ? day_option("--to", *to, now) : today;
    period.from = api::first_of_month(std::min(period.to, today));
    if (from) {
        period.from = day_option("--from", *from, now);
    } else if (last) {
        period.from = start_of_last(number_option("--last", *last, kMost),
                                    period.step, today);
    }
    return period;
}

api::UsagePeriod UsageOptions::period(api::UnixTime now) const
{
    const api::UsagePeriod period = given_period(now);
    // One that begins after today has no days yet, as by a clock that is ahead
    // of Redis's.
    if (to && period.from > period.to) {
        throw UsageError("--from is after --to");
    }
    return period.kept_at(api::day_of(now));
}

void UsageOptions::check_period() const
{
    constexpr api::UnixTime kAnyTime = 1'700'000'000;
    given_period(kAnyTime);
}

std::optional<int> UsageOptions::percent() const
{
    constexpr std::int64_t kAll = 100;
    return over ? std::optional(
               static_cast<int>(number_option("--over", *over, kAll)))
                : std::nullopt;
}

}  // namespace petstore::ctl
