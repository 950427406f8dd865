#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "../command_line/context.h"
#include "account_name.h"
#include "account_options.h"

namespace petstore::ctl {

// The commands of `account`.

struct NewAccount {
    AccountOptions options;

    void add_to(CLI::App& command) { options.add_to(command, "--external-id"); }
};
void create_account(Context& context, const NewAccount& account);

// The filters of `account list`, all of which an account must pass.
struct AccountFilter {
    std::optional<std::string> plan;
    std::optional<std::string> label;
    bool disabled = false;

    void add_to(CLI::App& command);
};
void list_accounts(Context& context, const AccountFilter& filter);

void show_account(Context& context, const NamedAccount& account);

// Names the account's keys that the change does not reach.
struct AccountChange {
    NamedAccount account;
    AccountOptions options;

    void add_to(CLI::App& command)
    {
        account.add_to(command);
        options.add_to(command, "--new-external-id");
    }
};
void set_account(Context& context, const AccountChange& change);

void set_account_disabled(Context& context, const NamedAccount& account,
                          bool disabled);

// Asks for confirmation on a terminal, unless `sure`.
struct AccountDeletion {
    NamedAccount account;
    bool sure = false;

    void add_to(CLI::App& command)
    {
        account.add_to(command);
        command.add_flag("-y,--yes,--force", sure, "Do not ask");
    }
};
void delete_account(Context& context, const AccountDeletion& deletion);

void unban_account(Context& context, const NamedAccount& account);
void reset_account(Context& context, const NamedAccount& account);

}  // namespace petstore::ctl
