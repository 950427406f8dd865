#include "account_output.h"

#include "../terminal/output.h"

namespace petstore::ctl {

namespace {

std::string limit_text(bool known, const std::optional<std::int64_t>& own,
                       std::int64_t limit)
{
    return (own || known) && limit != 0 ? std::to_string(limit) : "-";
}

}  // namespace

std::string last_used_text(const api::AccountUsage& usage)
{
    return usage.last_used ? api::iso_date(*usage.last_used) : "-";
}

std::string plan_text(const api::PlanTable& plans, std::string_view name)
{
    std::string text(name);
    return plans.knows(name) ? text : text + " (unknown plan)";
}

LimitTexts::LimitTexts(const api::PlanTable& plans,
                       const api::PlanInForce& plan)
{
    const bool known = plans.knows(plan.plan);
    minute = limit_text(known, plan.per_minute, plan.limits.minute);
    day = limit_text(known, plan.per_day, plan.limits.day);
    month = limit_text(known, plan.per_month, plan.limits.month);
}

void print_account(const api::PlanTable& plans, const api::AccountUsage& usage)
{
    const api::AccountRecord& account = usage.account;
    const auto plan = plans.plan_in_force({}, account);
    const LimitTexts limits(plans, plan);
    print_property("id", account.id);
    print_property("external id", text_or_dash(account.external_id));
    print_property("label", account.label);
    print_property("plan", plan_text(plans, plan.plan));
    print_property("per minute", limits.minute);
    print_property("per day", limits.day);
    print_property("per month", limits.month);
    print_property("created", full_time(account.created, usage.now / 1000));
    print_property("last used", last_used_text(usage));
    print_property("disabled", account.disabled ? "yes" : "no");
}

void print_accounts(const api::PlanTable& plans,
                    const std::vector<api::AccountUsage>& accounts)
{
    std::vector<std::vector<std::string>> rows;
    rows.push_back({"ID", "EXTERNAL ID", "PLAN", "MINUTE", "DAY", "MONTH",
                    "CREATED", "LAST USED", "STATE", "LABEL"});
    for (const api::AccountUsage& usage : accounts) {
        const api::AccountRecord& account = usage.account;
        const auto plan = plans.plan_in_force({}, account);
        const LimitTexts limits(plans, plan);
        rows.push_back(
            {account.id, text_or_dash(account.external_id),
             plan_text(plans, plan.plan), limits.minute, limits.day,
             limits.month, table_time(account.created, usage.now / 1000),
             last_used_text(usage), account.disabled ? "disabled" : "usable",
             account.label});
    }
    print_table(rows, "STATE");
}

}  // namespace petstore::ctl
