#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "../command_line/context.h"
#include "account_name.h"

namespace petstore::ctl {

// The commands of `account` that are not in account_commands.cpp.

// The filters of `account list`, all of which an account must pass.
struct AccountFilter {
    std::optional<std::string> plan;
    std::optional<std::string> label;
    bool disabled = false;

    void add_to(CLI::App& command);
};
void list_accounts(Context& context, const AccountFilter& filter);

void show_account(Context& context, const NamedAccount& account);

}  // namespace petstore::ctl
