#include "usage_report.h"

#include <utility>

#include "../../api/administration_json.h"
#include "../terminal/csv.h"
#include "../terminal/output.h"
#include "account_output.h"

namespace petstore::ctl {

namespace {

using Row = std::vector<std::string>;

std::string count_start(const api::UsageCount& count,
                        const api::UsagePeriod& period)
{
    return period.step == api::UsagePeriod::Step::month
               ? api::iso_month(count.start)
               : api::iso_date(count.start);
}

api::UsageCount sum_of(const std::vector<api::UsageCount>& counts)
{
    api::UsageCount sum;
    for (const api::UsageCount& count : counts) {
        sum.admitted += count.admitted;
        sum.denied += count.denied;
    }
    return sum;
}

Row usage_window_row(const api::UsageWindow& each)
{
    const auto& [name, window] = each;
    return {name, std::to_string(window.used), std::to_string(window.limit),
            std::to_string(window.remaining()),
            api::iso_time(api::seconds_up(window.reset))};
}

}  // namespace

UsageReport::UsageReport(const UsageReportOf& of, Form form, int percent)
    : of_(of), form_(form), percent_(percent)
{
    if (form == Form::csv) {
        const bool by_month = of.period.step == api::UsagePeriod::Step::month;
        print_data(
            csv_line({"account", "external_id", "label", "plan",
                      by_month ? "month" : "date", "admitted", "denied"}));
    } else if (form == Form::table) {
        rows_ = {{"ACCOUNT", "EXTERNAL ID", "PLAN", "ADMITTED", "DENIED",
                  "MINUTE", "DAY", "MONTH", "LAST USED", "LABEL"}};
    } else if (form == Form::over) {
        rows_ = {{"ACCOUNT", "EXTERNAL ID", "PLAN", "WINDOW", "USED", "LIMIT",
                  "REMAINING", "RESETS", "LABEL"}};
    }
}

void UsageReport::add(const api::AccountUsage& usage)
{
    switch (form_) {
    case Form::csv:
        return print_csv(usage);
    case Form::json:
        return print_data(std::string(std::exchange(first_, false) ? "[" : ",")
                          + '\n'
                          + api::usage_json(usage, of_.plans, of_.period));
    case Form::table:
        return rows_.push_back(table_row(usage));
    case Form::over:
        return add_windows(usage);
    }
}

void UsageReport::finish()
{
    if (form_ == Form::json) {
        print_data(first_ ? "[]" : "]");
    } else if (form_ != Form::csv) {
        print_table(rows_);
    }
}

void UsageReport::print_csv(const api::AccountUsage& usage) const
{
    const api::AccountRecord& account = usage.account;
    const api::PlanInForce plan = of_.plans.plan_in_force({}, account);
    for (const auto& count : api::usage_counts(usage, of_.period)) {
        print_data(csv_line(
            {account.id, account.external_id, account.label,
             std::string(plan.plan), count_start(count, of_.period),
             std::to_string(count.admitted), std::to_string(count.denied)}));
    }
}

UsageReport::Row UsageReport::table_row(const api::AccountUsage& usage) const
{
    constexpr std::size_t kFirstWindow = 5;
    const api::AccountRecord& account = usage.account;
    const api::PlanInForce plan = of_.plans.plan_in_force({}, account);
    const auto sum = sum_of(api::usage_counts(usage, of_.period));
    Row row = {account.id,
               text_or_dash(account.external_id),
               plan_text(of_.plans, plan.plan),
               std::to_string(sum.admitted),
               std::to_string(sum.denied),
               "-",
               "-",
               "-",
               last_used_text(usage),
               account.label};
    std::size_t column = kFirstWindow;
    for (const auto& each : api::usage_windows(usage, plan.limits)) {
        row[column++] = std::to_string(each.window.used) + '/'
                        + std::to_string(each.window.limit);
    }
    return row;
}

void UsageReport::add_windows(const api::AccountUsage& usage)
{
    const api::AccountRecord& account = usage.account;
    const api::PlanInForce plan = of_.plans.plan_in_force({}, account);
    for (const auto& each : api::usage_windows(usage, plan.limits)) {
        if (!api::reaches(each.window, percent_)) {
            continue;
        }
        Row row = {account.id, text_or_dash(account.external_id),
                   plan_text(of_.plans, plan.plan)};
        const Row window = usage_window_row(each);
        row.insert(row.end(), window.begin(), window.end());
        row.push_back(account.label);
        rows_.push_back(std::move(row));
    }
}

void print_usage(const UsageReportOf& of, const api::AccountUsage& usage)
{
    const api::AccountRecord& account = usage.account;
    const api::PlanInForce plan = of.plans.plan_in_force({}, account);
    print_property("account", account.id);
    print_property("external id", text_or_dash(account.external_id));
    print_property("label", account.label);
    print_property("plan", plan_text(of.plans, plan.plan));
    print_property("last used", last_used_text(usage));
    if (usage.banned_until) {
        print_property("banned until",
                       api::iso_time(api::seconds_up(usage.banned_until)));
    }
    std::vector<Row> rows = {
        {"WINDOW", "USED", "LIMIT", "REMAINING", "RESETS"}};
    for (const auto& each : api::usage_windows(usage, plan.limits)) {
        rows.push_back(usage_window_row(each));
    }
    if (rows.size() > 1) {
        print_line("");
        print_table(rows);
    }

    const auto counts = api::usage_counts(usage, of.period);
    const bool by_month = of.period.step == api::UsagePeriod::Step::month;
    rows = {{by_month ? "MONTH" : "DATE", "ADMITTED", "DENIED"}};
    for (const auto& count : counts) {
        rows.push_back({count_start(count, of.period),
                        std::to_string(count.admitted),
                        std::to_string(count.denied)});
    }
    const auto sum = sum_of(counts);
    rows.push_back(
        {"total", std::to_string(sum.admitted), std::to_string(sum.denied)});
    print_line("");
    print_table(rows);
}

bool is_over(const api::PlanTable& plans, const api::AccountUsage& usage,
             int percent)
{
    const auto plan = plans.plan_in_force({}, usage.account);
    for (const auto& each : api::usage_windows(usage, plan.limits)) {
        if (api::reaches(each.window, percent)) {
            return true;
        }
    }
    return false;
}

}  // namespace petstore::ctl
