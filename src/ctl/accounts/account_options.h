#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "../../api/account.h"
#include "plan_options.h"

namespace petstore::ctl {

// The properties of an account, as options of create and set.
struct AccountOptions {
    std::optional<std::string> external_id;  // "none" removes it
    PlanOptions plan;
    std::optional<std::string> label;

    // `external_id_option`: "--external-id", or "--new-external-id" where that
    // names the account.
    void add_to(CLI::App& command, const char* external_id_option);
    bool any() const noexcept { return external_id || plan.any() || label; }

    // Throw UsageError for an invalid value.
    void apply(api::AccountRecord& record) const;
    void check() const;

private:
    const char* external_id_option_ = "";
};

}  // namespace petstore::ctl
