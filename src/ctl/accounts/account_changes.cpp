#include "account_commands.h"

#include <exception>
#include <optional>
#include <unistd.h>
#include <utility>

#include "../../api/administration_json.h"
#include "../../store/accounts/account_administration.h"
#include "../../store/accounts/usage_administration.h"
#include "../../store/random.h"
#include "../exit.h"
#include "../terminal/output.h"
#include "../terminal/terminal.h"

namespace petstore::ctl {

namespace {

void report_account(Context& context, const store::KeyServers& servers,
                    const api::AccountRecord& record,
                    const std::string& message)
{
    if (!context.json()) {
        return say(message);
    }
    const auto usage = context.await(
        store::read_usage(servers, record.id, api::UsagePeriod::none()));
    print_json(Json::parse(api::account_json(record, usage.last_used)));
}

// What of a change of its account's plan and numbers a key does not follow;
// empty if nothing.
std::string unaffected(const api::OwnPlan& key, const PlanOptions& change)
{
    if (!key.plan.empty()) {
        return " is unaffected: it has its own plan.";
    }
    std::string kept;
    bool affected = false;
    const auto check = [&](const std::optional<std::string>& number,
                           const std::optional<std::int64_t>& own,
                           const char* name) {
        const bool changed = number || change.plan;
        if (changed && own) {
            kept += kept.empty() ? name : std::string(" and ") + name;
        }
        affected |= changed && !own;
    };
    check(change.per_minute, key.per_minute, "per minute");
    check(change.per_day, key.per_day, "per day");
    check(change.per_month, key.per_month, "per month");
    if (kept.empty()) {
        return "";
    }
    return affected ? " keeps its own number " + kept + "."
                    : " is unaffected: it has its own number " + kept + ".";
}

void name_unaffected(Context& context, const store::KeyServers& servers,
                     const std::string& id, const PlanOptions& change)
{
    const auto listing =
        context.await(store::list_keys_of_account(servers, {id, ""}));
    for (const store::StoredKey& key : listing.keys) {
        const std::string text = unaffected(key.record, change);
        if (!text.empty()) {
            say("Key " + key.record.id + text);
        }
    }
}

void confirm_account_deletion(Context& context,
                              const store::KeyServers& servers,
                              const std::string& id)
{
    const auto record = context.await(store::find_account(servers, {id, ""}));
    std::string known = record.id;
    if (!record.external_id.empty()) {
        known += ", external id " + record.external_id;
    }
    if (!record.label.empty()) {
        known += ", label " + record.label;
    }
    if (!confirm("Delete the account " + known
                 + "? This cannot be undone; its usage is kept.")) {
        throw Failure("nothing was deleted");
    }
}

}  // namespace

void create_account(Context& context, const NewAccount& account)
{
    const AccountOptions& options = account.options;
    options.check();
    if (options.external_id == "none") {
        throw UsageError(
            "a new account has no external id to remove: omit --external-id");
    }
    const auto servers = context.keys(Access::change);
    api::AccountRecord record;
    options.apply(record);
    const auto plans = context.plans();
    const auto plan = plans.plan_in_force({}, record);
    check_numbers(plan, plans);
    warn_of_plan(plan, plans, "account");
    record.id = store::new_id();
    record.created = context.now(servers);
    record = context.await(store::create_account(servers, record));
    if (context.json()) {
        print_json(Json::parse(api::account_json(record, std::nullopt)));
    } else {
        say("The account is created. Its id is:");
        print_line(record.id);
    }
}

void set_account(Context& context, const AccountChange& change)
{
    const std::string id = resolve(context, change.account);
    const AccountOptions& options = change.options;
    if (!options.any()) {
        throw UsageError("nothing to set: see petstorectl account set --help");
    }
    options.check();
    const auto servers = context.keys(Access::change);
    const auto plans = context.plans();
    bool warned = false;
    std::exception_ptr error;
    const auto apply = [&](api::AccountRecord& changed) {
        options.apply(changed);
        changed.implicit = false;
        if (options.plan.any()) {
            const auto plan = plans.plan_in_force({}, changed);
            check_numbers(plan, plans);
            // A change may be tried several times.
            if (!std::exchange(warned, true)) {
                warn_of_plan(plan, plans, "account");
            }
        }
    };
    const auto record = context.await(
        store::update_account(servers, {id, ""}, keep_error(error, apply)),
        error);
    report_account(context, servers, record, "Account " + id + " is changed.");
    if (options.plan.any()) {
        name_unaffected(context, servers, id, options.plan);
    }
}

void set_account_disabled(Context& context, const NamedAccount& account,
                          bool disabled)
{
    const std::string id = resolve(context, account);
    const auto servers = context.keys(Access::change);
    const auto record = context.await(store::update_account(
        servers, {id, ""},
        [&](api::AccountRecord& changed) { changed.disabled = disabled; }));
    report_account(
        context, servers, record,
        "Account " + id
            + (disabled ? " is disabled, with all its keys." : " is enabled."));
}

void delete_account(Context& context, const AccountDeletion& deletion)
{
    const std::string id = resolve(context, deletion.account);
    const auto servers = context.keys(Access::change);
    if (!deletion.sure && is_terminal(STDIN_FILENO)) {
        confirm_account_deletion(context, servers, id);
    }
    context.await(store::delete_account(servers, {id, ""}));
    report(context.json(), {{"id", id}, {"deleted", true}},
           "Account " + id + " is deleted.");
}

void unban_account(Context& context, const NamedAccount& account)
{
    const std::string id = resolve(context, account);
    const auto servers = context.keys(Access::change);
    context.await(store::find_account(servers, {id, ""}));
    const bool was_banned = context.await(store::unban_account(servers, id));
    report(context.json(), {{"id", id}, {"was_banned", was_banned}},
           was_banned ? "The ban of account " + id + " is lifted."
                      : "Account " + id + " was not banned.");
}

void reset_account(Context& context, const NamedAccount& account)
{
    const std::string id = resolve(context, account);
    const auto servers = context.keys(Access::change);
    context.await(store::reset_account(servers, {id, ""}));
    report(context.json(), {{"id", id}, {"reset", true}},
           "The windows of account " + id + " are empty; its usage stays.");
}

}  // namespace petstore::ctl
