#pragma once

#include <string>
#include <vector>

#include "../../api/plan.h"
#include "../../api/usage.h"

namespace petstore::ctl {

// Reports borrow the plans.
struct UsageReportOf {
    const api::PlanTable& plans;
    api::UsagePeriod period;
};

// Prints what accounts have used, one after the other.
class UsageReport {
public:
    enum class Form {
        csv,
        json,   // an array, of one line per account
        table,  // for people: one line per account
        over,   // one line per window of which `percent` are used
    };

    UsageReport(const UsageReportOf& of, Form form, int percent);

    void add(const api::AccountUsage& usage);
    void finish();  // after the last one

private:
    using Row = std::vector<std::string>;

    void print_csv(const api::AccountUsage& usage) const;
    Row table_row(const api::AccountUsage& usage) const;
    void add_windows(const api::AccountUsage& usage);

    const UsageReportOf of_;
    const Form form_;
    const int percent_;
    bool first_ = true;
    std::vector<Row> rows_;  // unless printed at once
};

// Of one account, with all counts.
void print_usage(const UsageReportOf& of, const api::AccountUsage& usage);

// Whether the account has used so much of one of its windows.
bool is_over(const api::PlanTable& plans, const api::AccountUsage& usage,
             int percent);

}  // namespace petstore::ctl
