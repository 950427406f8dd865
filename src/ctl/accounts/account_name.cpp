#include "account_name.h"

#include "../../store/accounts/account_administration.h"
#include "../command_line/values.h"
#include "../exit.h"

namespace petstore::ctl {

namespace {

CLI::Option* add_external_id(CLI::App& command, std::string& external_id,
                             const char* what)
{
    return check_external_id(
        add_value(command, "--external-id", "ID", external_id, what));
}

}  // namespace

void NamedAccount::add_to(CLI::App& command)
{
    auto* const argument = command.add_option("ID", id, "Id of the account");
    add_external_id(command, external_id, "The account with this external id")
        ->excludes(argument);
}

void NamedAccount::add_option(CLI::App& command, const char* what)
{
    auto* const option =
        refuse_empty(add_value(command, "--account", "ID", id, what));
    add_external_id(command, external_id,
                    "The same, by the account's external id")
        ->excludes(option);
}

void require_name(const store::AccountName& name)
{
    if (name.id.empty() && name.external_id.empty()) {
        throw UsageError("name an account by its id or --external-id");
    }
}

std::string resolve(Context& context, const store::AccountName& name)
{
    require_name(name);
    if (name.external_id.empty()) {
        return name.id;
    }
    const auto links = context.links(Access::read);
    return context.await(store::find_account(links, name)).id;
}

}  // namespace petstore::ctl
