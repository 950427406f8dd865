#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "../../store/accounts/account_listing.h"
#include "../command_line/context.h"

namespace petstore::ctl {

// How a command names an account: by its id, or by the external id.
struct NamedAccount : store::AccountName {
    bool given() const noexcept { return !id.empty() || !external_id.empty(); }
    std::optional<store::AccountName> name() const
    {
        return given() ? std::optional<store::AccountName>(*this)
                       : std::nullopt;
    }

    // As the argument ID, or as the option --account.
    void add_to(CLI::App& command);
    void add_option(CLI::App& command, const char* what);
};

// Throws UsageError without a name.
void require_name(const store::AccountName& name);

// The account's id; looks an external id up. Throws UsageError without a name,
// and Failure.
std::string resolve(Context& context, const store::AccountName& name);

}  // namespace petstore::ctl
