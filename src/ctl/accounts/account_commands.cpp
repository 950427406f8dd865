#include "account_commands.h"

#include "../command_line/commands.h"

namespace petstore::ctl {

void add_account_commands(CLI::App& app, Action& action)
{
    CLI::App& account =
        add_group(app, "account", "Accounts: customers with their keys");
    add_command(account, "create", "Create an account", action, create_account);
    add_command(account, "list", "List accounts, oldest first", action,
                list_accounts)
        .alias("ls");
    add_command(account, "show", "Show an account", action, show_account);
    add_command(
        account, "set",
        "Change an account, and all its keys without a plan or numbers of their own",
        action, set_account);
    add_command<NamedAccount>(account, "disable",
                              "Disable an account with all its keys", action,
                              [](Context& context, const NamedAccount& named) {
                                  set_account_disabled(context, named, true);
                              })
        .alias("revoke");
    add_command<NamedAccount>(account, "enable", "Enable a disabled account",
                              action,
                              [](Context& context, const NamedAccount& named) {
                                  set_account_disabled(context, named, false);
                              });
    add_command(
        account, "delete",
        "Delete an account without keys (asks for confirmation on a terminal)",
        action, delete_account);
    add_command(account, "unban", "End the ban of an account", action,
                unban_account);
    add_command(account, "reset",
                "Empty the windows of an account; its usage stays", action,
                reset_account);
}

}  // namespace petstore::ctl
