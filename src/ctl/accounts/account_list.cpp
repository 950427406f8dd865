#include "account_commands.h"

#include <vector>

#include "../../api/administration_json.h"
#include "../../store/accounts/usage_administration.h"
#include "../command_line/values.h"
#include "../command_line/words.h"
#include "../exit.h"
#include "../terminal/output.h"
#include "account_output.h"
#include "all_accounts.h"

namespace petstore::ctl {

namespace {

bool passes(const AccountFilter& filter, const api::AccountRecord& account)
{
    const api::PlanTable plans;
    return account.deleted == 0 && (!filter.disabled || account.disabled)
           && (!filter.plan
               || plans.plan_in_force({}, account).plan == *filter.plan)
           && (!filter.label
               || contains_ignoring_case(account.label, *filter.label));
}

}  // namespace

void AccountFilter::add_to(CLI::App& command)
{
    add_value(command, "--plan", "PLAN", plan, "Only accounts with this plan");
    add_value(command, "--label", "TEXT", label,
              "Only accounts whose label contains this text, in any case");
    command.add_flag("--disabled", disabled, "Only disabled accounts");
}

void list_accounts(Context& context, const AccountFilter& filter)
{
    if (filter.plan && !api::is_plan_name(*filter.plan)) {
        throw UsageError("--plan must be the name of a plan");
    }
    const auto links = context.links(Access::read);
    const auto plans = context.plans();
    Json array = Json::array();
    std::vector<api::AccountUsage> accounts;
    const auto damaged =
        each_account(context, links, api::UsagePeriod::none(),
                     ShowProgress::yes, [&](const api::AccountUsage& usage) {
                         if (!passes(filter, usage.account)) {
                             return;
                         }
                         if (context.json()) {
                             array.push_back(Json::parse(api::account_json(
                                 usage.account, usage.last_used)));
                         } else {
                             accounts.push_back(usage);
                         }
                     });
    if (context.json()) {
        print_json(array);
    } else {
        print_accounts(plans, accounts);
    }
    fail_if_damaged(damaged);
}

void show_account(Context& context, const NamedAccount& account)
{
    const std::string id = resolve(context, account);
    const auto links = context.links(Access::read);
    const auto usage =
        context.await(store::read_usage(links, id, api::UsagePeriod::none()));
    if (usage.account.deleted != 0) {
        throw Failure("the account is deleted: see petstorectl usage",
                      Failure::Kind::not_found);
    }
    if (context.json()) {
        print_json(
            Json::parse(api::account_json(usage.account, usage.last_used)));
    } else {
        print_account(context.plans(), usage);
    }
}

}  // namespace petstore::ctl
