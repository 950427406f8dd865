#pragma once

#include <memory>
#include <optional>

#include "../../api/plan.h"
#include "../../api/usage.h"

namespace petstore::ctl {

// Prints what accounts have used, one after the other.
class UsageReport {
public:
    virtual ~UsageReport() = default;
    virtual void add(const api::AccountUsage& usage) = 0;
    virtual void finish() {}  // after the last one
};

// Reports borrow the plans.
struct UsageReportOf {
    const api::PlanTable& plans;
    api::UsagePeriod period;
};

std::unique_ptr<UsageReport> csv_report(const UsageReportOf& of);
// An array, of one line per account.
std::unique_ptr<UsageReport> json_report(const UsageReportOf& of);
// For people: one line per account.
std::unique_ptr<UsageReport> table_report(const UsageReportOf& of);
// One line per window of which `percent` are used.
std::unique_ptr<UsageReport> over_report(const UsageReportOf& of, int percent);
// Of one account, with all counts.
void print_usage(const UsageReportOf& of, const api::AccountUsage& usage);
void print_usage_json(const UsageReportOf& of, const api::AccountUsage& usage);

// Whether the account has used so much of one of its windows.
bool is_over(const api::PlanTable& plans, const api::AccountUsage& usage,
             int percent);

}  // namespace petstore::ctl
