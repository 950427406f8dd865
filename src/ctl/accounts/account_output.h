#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "../../api/plan.h"
#include "../../api/usage.h"

namespace petstore::ctl {

// For people. Of the usage, only the last use is shown. Times are relative to
// usage.now.
void print_account(const api::PlanTable& plans, const api::AccountUsage& usage);
void print_accounts(const api::PlanTable& plans,
                    const std::vector<api::AccountUsage>& accounts);

std::string last_used_text(const api::AccountUsage& usage);  // "-" if never

// A plan's name, marked if nobody defines it.
std::string plan_text(const api::PlanTable& plans, std::string_view name);

// The limits that apply. "-" for what only an undefined plan could say, and
// without a monthly limit.
struct LimitTexts {
    LimitTexts(const api::PlanTable& plans, const api::PlanInForce& plan);

    std::string minute;
    std::string day;
    std::string month;
};

}  // namespace petstore::ctl
