#include "key_commands.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "../../api/administration_json.h"
#include "../../api/date.h"
#include "../../api/plan.h"
#include "../../store/accounts/account_administration.h"
#include "../../store/keys/key_administration.h"
#include "../command_line/values.h"
#include "../command_line/words.h"
#include "../exit.h"
#include "../terminal/output.h"
#include "key_output.h"

namespace petstore::ctl {

namespace {

void check(const KeyFilter& filter)
{
    if (filter.state
        && std::find(std::begin(api::kKeyStates), std::end(api::kKeyStates),
                     *filter.state)
               == std::end(api::kKeyStates)) {
        throw UsageError(
            "--state must be usable, disabled, expired or unfinished");
    }
    if (filter.plan && !api::is_plan_name(*filter.plan)) {
        throw UsageError("--plan must be the name of a plan");
    }
    if (filter.expires_before) {
        moment_option("--expires-before", *filter.expires_before, 0);
    }
}

bool passes(const KeyFilter& filter, const ShownKey& shown, api::UnixTime now)
{
    const api::KeyRecord& record = shown.key.record;
    return (!filter.plan
            || api::PlanTable().plan_in_force(record, shown.account).plan
                   == *filter.plan)
           && (!filter.state || state_of(shown, now) == *filter.state)
           && (!filter.label
               || contains_ignoring_case(record.label, *filter.label))
           && (!filter.expires_before
               || (record.expires
                   && *record.expires < moment_option(
                          "--expires-before", *filter.expires_before, now)));
}

}  // namespace

void KeyFilter::add_to(CLI::App& command)
{
    add_value(command, "--plan", "PLAN", plan, "Only keys with this plan");
    add_value(command, "--state", "STATE", state,
              "Only keys that are usable, disabled, expired or unfinished");
    account.add_option(command, "Only keys of this account");
    add_value(command, "--label", "TEXT", label,
              "Only keys whose label contains this text, in any case");
    add_value(
        command, "--expires-before", "DATE", expires_before,
        "Only keys that expire before this date, or within this time from now: 2030-12-31, 2030-12-31T12:00:00Z, 30d");
}

void list_keys(Context& context, const KeyFilter& filter)
{
    check(filter);
    const std::string account =
        filter.account.given() ? resolve(context, filter.account) : "";
    const auto links = context.links(Access::read);
    const auto plans = context.plans();
    auto listing = context.await(
        account.empty() ? store::list_keys(links)
                        : store::list_keys_of_account(links, {account, ""}));
    const api::UnixTime now = context.now(links);
    auto all = context.await(store::list_accounts(links));
    auto missing = add_unlisted(context, links, listing, all);
    all.missing.clear();  // accounts are not listed
    forget_unfinished(context, links, listing, all, missing);
    std::map<std::string, const char*> problems;  // of accounts
    for (const std::string& id : all.damaged) {
        problems.emplace(id, " is damaged");
    }
    for (const std::string& id : missing) {
        problems.emplace(id, " does not exist");
    }
    std::vector<std::string> warnings;
    const auto leave_out = [&](const ShownKey& each) {
        const api::KeyRecord& record = each.key.record;
        const auto problem = problems.find(record.account);
        if (problem == problems.end() || each.key.unfinished) {
            return !passes(filter, each, now);
        }
        warnings.push_back("the record of the account of key " + record.id
                           + problem->second);
        return true;
    };
    auto shown = shown_keys(listing, all);
    std::erase_if(shown, leave_out);
    if (context.json()) {
        Json array = Json::array();
        for (const ShownKey& each : shown) {
            array.push_back(json_of(each, plans, now));
        }
        print_json(array);
    } else {
        print_keys(shown, plans, now);
    }
    for (const std::string& id : listing.missing) {
        warn(
            "key " + id
            + " is listed but has no record: an interrupted command left it, or Redis has lost it. Restore a backup, or remove the entry with petstorectl key delete "
            + id);
    }
    for (const std::string& id : listing.damaged) {
        warn("the record of key " + id + " is damaged");
    }
    for (const std::string& warning : warnings) {
        warn(warning);
    }
    for (const std::string& id : listing.damaged_entries) {
        warn("the entry of key " + id + " in " + context.schema().key_index()
             + " is damaged");
    }
    if (!listing.unread.empty()) {
        flush_output();
        throw Unreachable(unread_text("key", listing.unread));
    }
    const std::size_t left_out = listing.damaged.size() + warnings.size()
                                 + listing.damaged_entries.size();
    if (left_out != 0) {
        flush_output();
        throw Failure(count_text(left_out, "key") + " left out");
    }
}

}  // namespace petstore::ctl
