#include "account_commands.h"

#include <memory>
#include <string>
#include <utility>

#include "account_changes.h"
#include "account_list.h"
#include "account_name.h"

namespace petstore::ctl {

namespace {

// Adds a command on one account.
template <typename Run>
CLI::App* add_command(CLI::App& parent, const char* name, const char* help,
                      Action& action, Run run)
{
    CLI::App* const command = parent.add_subcommand(name, help);
    const auto account = std::make_shared<NamedAccount>();
    account->add_argument(*command);
    command->callback([&action, account, run = std::move(run)] {
        action = [account, run](Context& context) {
            run(context, resolve(context, *account));
        };
    });
    return command;
}

}  // namespace

void add_account_commands(CLI::App& app, Action& action)
{
    CLI::App& account =
        *app.add_subcommand("account", "Accounts: customers with their keys");
    account.require_subcommand(1);

    CLI::App* command = account.add_subcommand("create", "Create an account");
    const auto created = std::make_shared<AccountOptions>();
    created->add_to(*command, "--external-id");
    command->callback([&action, created] {
        action = [created](Context& context) {
            create_account(context, *created);
        };
    });

    command = account.add_subcommand("list", "List accounts, oldest first");
    command->alias("ls");
    const auto filter = std::make_shared<AccountFilter>();
    filter->add_to(*command);
    command->callback([&action, filter] {
        action = [filter](Context& context) {
            list_accounts(context, *filter);
        };
    });

    add_command(account, "show", "Show an account", action, show_account);

    const auto changed = std::make_shared<AccountOptions>();
    command = add_command(
        account, "set",
        "Change an account, and all its keys without a plan or numbers of their own",
        action, [changed](Context& context, const std::string& id) {
            set_account(context, id, *changed);
        });
    changed->add_to(*command, "--new-external-id");

    add_command(account, "disable", "Disable an account with all its keys",
                action,
                [](Context& context, const std::string& id) {
                    set_account_disabled(context, id, true);
                })
        ->alias("revoke");
    add_command(account, "enable", "Enable a disabled account", action,
                [](Context& context, const std::string& id) {
                    set_account_disabled(context, id, false);
                });

    const auto sure = std::make_shared<bool>(false);
    command = add_command(
        account, "delete",
        "Delete an account without keys (asks for confirmation on a terminal)",
        action, [sure](Context& context, const std::string& id) {
            delete_account(context, id, *sure);
        });
    command->add_flag("-y,--yes,--force", *sure, "Do not ask");

    add_command(account, "unban", "End the ban of an account", action,
                unban_account);
    add_command(account, "reset",
                "Empty the windows of an account; its usage stays", action,
                reset_account);
}

}  // namespace petstore::ctl
