#include "plan_options.h"

#include <string_view>

#include "../../api/admin_body.h"
#include "../command_line/values.h"
#include "../command_line/words.h"
#include "../exit.h"
#include "../terminal/output.h"

namespace petstore::ctl {

namespace {

void set_number(const std::optional<std::string>& option, const char* name,
                std::optional<std::int64_t>& number)
{
    if (option == "none") {
        number.reset();
    } else if (option) {
        number = number_option(name, *option, api::kMaxLimit, ", or none");
    }
}

void warn_of_larger(std::int64_t limit, const char* window,
                    std::int64_t longer_limit, const char* longer)
{
    if (longer_limit != 0 && limit > longer_limit) {
        warn("the limit of " + std::to_string(limit) + " per " + window
             + " exceeds that of " + std::to_string(longer_limit) + " per "
             + longer);
    }
}

}  // namespace

void PlanOptions::add_to(CLI::App& command)
{
    add_value(
        command, "--plan", "PLAN", plan,
        "free, pro, business, enterprise, or another plan (none: remove it)");
    add_value(command, "--per-minute", "N", per_minute,
              "Limit per minute, instead of the plan's (none: remove it)");
    add_value(command, "--per-day", "N", per_day,
              "Limit per day, instead of the plan's (none: remove it)");
    add_value(
        command, "--per-month", "N", per_month,
        "Limit per calendar month in UTC, instead of the plan's (none: remove it)");
}

void PlanOptions::apply(api::OwnPlan& own) const
{
    if (plan) {
        if (!api::is_plan_name(*plan)) {
            throw UsageError(
                "--plan must be 1 to 32 lower-case letters, digits, \"_\" or \"-\"");
        }
        own.plan = *plan == "none" ? "" : *plan;
    }
    set_number(per_minute, "--per-minute", own.per_minute);
    set_number(per_day, "--per-day", own.per_day);
    set_number(per_month, "--per-month", own.per_month);
}

void check_numbers(const api::PlanInForce& plan, const api::PlanTable& plans)
{
    if (plans.needs_numbers(plan.plan) && (!plan.per_minute || !plan.per_day)) {
        throw UsageError(
            "the plan enterprise needs --per-minute and --per-day");
    }
}

void warn_of_plan(const api::PlanInForce& plan, const api::PlanTable& plans,
                  const char* what)
{
    const std::string name(plan.plan);
    const bool known_plan = plans.knows(name);
    if (!known_plan) {
        const auto names = plans.names();
        const std::string_view meant = closest(name, names);
        warn("no host and no Redis defines the plan " + name
             + ": until one does, the " + what + " counts as free"
             + (meant.empty()
                    ? ""
                    : ". Did you mean '" + std::string(meant) + "'?"));
    }
    // Not what only a plan that nobody defines could say.
    const auto known = [&](const std::optional<std::int64_t>& own,
                           std::int64_t limit) {
        return known_plan || own ? limit : 0;
    };
    warn_of_limits({known(plan.per_minute, plan.limits.minute),
                    known(plan.per_day, plan.limits.day),
                    known(plan.per_month, plan.limits.month)});
}

void warn_of_limits(const api::Limits& limits)
{
    warn_of_larger(limits.minute, "minute", limits.day, "day");
    warn_of_larger(limits.day, "day", limits.month, "month");
}

void check_label(const std::string& label)
{
    const char* wrong = label.empty() ? nullptr : api::label_problem(label);
    if (wrong != nullptr) {
        throw UsageError(std::string("--label ") + wrong);
    }
}

}  // namespace petstore::ctl
