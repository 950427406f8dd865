#include "account_commands.h"

#include <exception>
#include <unistd.h>
#include <utility>

#include "../../api/administration_json.h"
#include "../../store/accounts/account_administration.h"
#include "../../store/accounts/external_id_tasks.h"
#include "../../store/accounts/usage_administration.h"
#include "../../store/random.h"
#include "../command_line/commands.h"
#include "../exit.h"
#include "../terminal/output.h"
#include "../terminal/terminal.h"
#include "account_options.h"

namespace petstore::ctl {

namespace {

void report_account(Context& context, const store::StoreLinks& links,
                    const api::AccountRecord& record, const std::string& done)
{
    if (!context.json()) {
        return say("Account " + record.id + " is " + done + ".");
    }
    after_change("the account is " + done, [&] {
        const auto usage = context.await(
            store::read_usage(links, record.id, api::UsagePeriod::none()));
        print_json(Json::parse(api::account_json(record, usage.last_used)));
    });
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

void name_unaffected(Context& context, const store::StoreLinks& links,
                     const std::string& id, const PlanOptions& change)
{
    const auto listing =
        context.await(store::list_keys_of_account(links, {id, ""}));
    for (const store::StoredKey& key : listing.keys) {
        const std::string text = unaffected(key.record, change);
        if (!text.empty()) {
            say("Key " + key.record.id + text);
        }
    }
}

// Does not ask about one that does not exist: at most, its deletion is
// completed.
void confirm_account_deletion(Context& context, const store::StoreLinks& links,
                              const store::AccountName& name)
{
    api::AccountRecord record;
    try {
        record = context.await(store::find_account(links, name));
    } catch (const Failure& failure) {
        if (failure.kind() == Failure::Kind::not_found) {
            return;
        }
        throw;
    }
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

struct NewAccount {
    AccountOptions options;

    void add_to(CLI::App& command) { options.add_to(command, "--external-id"); }
};

void create_account(Context& context, const NewAccount& account)
{
    const AccountOptions& options = account.options;
    options.check();
    if (options.external_id == "none") {
        throw UsageError(
            "a new account has no external id to remove: omit --external-id");
    }
    const auto links = context.links(Access::change);
    api::AccountRecord record;
    options.apply(record);
    const auto plans = context.plans();
    const auto plan = plans.plan_in_force({}, record);
    check_numbers(plan, plans);
    warn_of_plan(plan, plans, "account");
    record.id = store::new_id();
    record.created = context.now(links);
    record = context.await(store::create_account(links, record));
    if (context.json()) {
        print_json(Json::parse(api::account_json(record, std::nullopt)));
    } else {
        say("The account is created. Its id is:");
        print_line(record.id);
    }
}

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

void set_account(Context& context, const AccountChange& change)
{
    require_name(change.account);
    const AccountOptions& options = change.options;
    if (!options.any()) {
        throw UsageError("nothing to set: see petstorectl account set --help");
    }
    options.check();
    const auto links = context.links(Access::change);
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
        store::update_account(links, change.account, keep_error(error, apply)),
        error);
    report_account(context, links, record, "changed");
    if (options.plan.any()) {
        name_unaffected(context, links, record.id, options.plan);
    }
}

void set_account_disabled(Context& context, const NamedAccount& account,
                          bool disabled)
{
    const std::string id = resolve(context, account);
    const auto links = context.links(Access::change);
    const auto record = context.await(store::update_account(
        links, {id, ""},
        [&](api::AccountRecord& changed) { changed.disabled = disabled; }));
    report_account(context, links, record,
                   disabled ? "disabled, with all its keys" : "enabled");
}

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

void delete_account(Context& context, const AccountDeletion& deletion)
{
    const NamedAccount& name = deletion.account;
    require_name(name);
    const auto links = context.links(Access::change);
    // Also of one whose deletion was interrupted, which resolve() does not
    // find.
    const std::string id =
        name.external_id.empty()
            ? name.id
            : context.await(store::read_claim(links, name.external_id));
    if (!deletion.sure && is_terminal(STDIN_FILENO)) {
        confirm_account_deletion(context, links, name);
    }
    context.await(store::delete_account(links, name));
    report(context.json(), {{"id", id}, {"deleted", true}},
           "Account " + id + " is deleted.");
}

void unban_account(Context& context, const NamedAccount& account)
{
    const std::string id = resolve(context, account);
    const auto links = context.links(Access::change);
    context.await(store::find_account(links, {id, ""}));
    const bool was_banned = context.await(store::unban_account(links, id));
    report(context.json(), {{"id", id}, {"was_banned", was_banned}},
           was_banned ? "The ban of account " + id + " is lifted."
                      : "Account " + id + " was not banned.");
}

void reset_account(Context& context, const NamedAccount& account)
{
    const std::string id = resolve(context, account);
    const auto links = context.links(Access::change);
    context.await(store::reset_account(links, {id, ""}));
    report(context.json(), {{"id", id}, {"reset", true}},
           "The windows of account " + id + " are empty; its usage stays.");
}

}  // namespace

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
