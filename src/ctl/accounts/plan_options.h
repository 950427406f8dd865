#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "../../api/key.h"
#include "../../api/plan.h"

namespace petstore::ctl {

// Plan and numbers of a key or an account, as options. An option not given
// leaves its property unchanged; "none" removes it.
struct PlanOptions {
    std::optional<std::string> plan;
    std::optional<std::string> per_minute;
    std::optional<std::string> per_day;
    std::optional<std::string> per_month;

    void add_to(CLI::App& command);
    bool any() const noexcept
    {
        return plan || per_minute || per_day || per_month;
    }

    // Throws UsageError for an invalid value.
    void apply(api::OwnPlan& own) const;
};

// Throws UsageError if a key or an account with this plan would have no limits.
void check_numbers(const api::PlanInForce& plan, const api::PlanTable& plans);

// Warns about surprising values.
void warn_of_plan(const api::PlanInForce& plan, const api::PlanTable& plans,
                  const char* what);

// Warns about a limit that is larger than that of a longer window.
void warn_of_limits(const api::Limits& limits);

// A label as an option. Throws UsageError.
void check_label(const std::string& label);

}  // namespace petstore::ctl
