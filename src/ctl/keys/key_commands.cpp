#include "key_commands.h"

#include <exception>
#include <unistd.h>
#include <utility>
#include <vector>

#include "../../store/accounts/account_administration.h"
#include "../../store/accounts/usage_administration.h"
#include "../../store/keys/key_administration.h"
#include "../accounts/account_output.h"
#include "../accounts/plan_options.h"
#include "../command_line/commands.h"
#include "../exit.h"
#include "../terminal/output.h"
#include "../terminal/terminal.h"
#include "key_output.h"

namespace petstore::ctl {

namespace {

// Reports a change that was made to the key: `done` says which. Its JSON needs
// the account, too.
void report_key(Context& context, const store::StoreLinks& links,
                const std::string& id, const std::string& done)
{
    if (!context.json()) {
        return say("Key " + id + " is " + done + ".");
    }
    after_change("the key is " + done, [&] {
        const auto shown = shown_key(context, links, id);
        print_json(json_of(shown, context.plans(), context.now(links)));
    });
}

struct KeyChange : KeyId {
    KeyOptions options;

    void add_to(CLI::App& command)
    {
        KeyId::add_to(command);
        options.add_to(command);
    }
};

void set(Context& context, const KeyChange& change)
{
    const std::string& id = change.id;
    const KeyOptions& options = change.options;
    if (!options.any()) {
        throw UsageError("nothing to set: see petstorectl key set --help");
    }
    options.check();
    const auto links = context.links(Access::change);
    const api::UnixTime now = context.now(links);
    const auto plans = context.plans();
    const auto account = shown_key(context, links, id).account;
    bool warned = false;
    std::exception_ptr error;
    const auto apply = [&](api::KeyRecord& changed) {
        options.apply(changed, now);
        const bool first = !std::exchange(warned, true);
        if (options.plan.any()) {
            const auto plan = plans.plan_in_force(changed, account);
            check_numbers(plan, plans);
            // A change may be tried several times.
            if (first) {
                warn_of_plan(plan, plans, "key");
            }
        }
        if (first) {
            warn_of_expiry(changed, now);
        }
    };
    context.await(store::update_key(links, id, keep_error(error, apply)),
                  error);
    report_key(context, links, id, "changed");
}

// The end of a message that says that the key is enabled.
std::string still_refused(Context& context, const store::StoreLinks& links,
                          const std::string& id)
{
    const auto shown = shown_key(context, links, id);
    const std::string& account = shown.account.id;
    const auto& expires = shown.key.record.expires;
    if (shown.account.disabled) {
        return ", but its account is disabled: petstorectl account enable "
               + account;
    }
    if (expires && *expires <= context.now(links)) {
        return ", but it expired on " + api::iso_time(*expires)
               + ": petstorectl key set " + id + " --expires DATE";
    }
    return ".";
}

void set_disabled(Context& context, const std::string& id, bool disabled)
{
    const auto links = context.links(Access::change);
    context.await(store::update_key(links, id, [&](api::KeyRecord& changed) {
        changed.disabled = disabled;
    }));
    if (disabled || context.json()) {
        report_key(context, links, id, disabled ? "disabled" : "enabled");
    } else {
        std::string end;
        try {
            end = still_refused(context, links, id);
        } catch (const Failure& problem) {  // the key is enabled all the same
            end = std::string("; ") + problem.what();
        }
        say("Key " + id + " is enabled" + end);
    }
}

void show(Context& context, const KeyId& named)
{
    const auto links = context.links(Access::read);
    const auto plans = context.plans();
    const auto shown = shown_key(context, links, named.id);
    const api::UnixTime now = context.now(links);
    if (context.json()) {
        print_json(json_of(shown, plans, now));
    } else {
        print_key(shown, plans, now);
    }
}

// Asks for confirmation before a key is deleted for good, but only on a
// terminal.
void confirm_deletion(Context& context, const store::StoreLinks& links,
                      const std::string& id)
{
    if (!is_terminal(STDIN_FILENO)) {
        return;
    }
    std::string known;
    try {
        const auto record = context.await(store::find_key(links, id)).record;
        known = ' ' + id;
        if (!record.plan.empty()) {
            known += ", plan " + record.plan;
        }
        if (!record.label.empty()) {
            known += ", label " + record.label;
        }
    } catch (const Failure& failure) {
        if (failure.kind() == Failure::Kind::redis_unavailable) {
            throw;
        }
        if (failure.kind() != Failure::Kind::not_found) {
            known = " with a damaged record";
        }
    }
    if (!confirm("Delete the key" + known
                 + "? It stops working at once. This cannot be undone.")) {
        throw Failure("nothing was deleted");
    }
}

struct KeyDeletion : KeyId {
    bool sure = false;

    void add_to(CLI::App& command)
    {
        KeyId::add_to(command);
        command.add_flag("-y,--yes,--force", sure, "Do not ask");
    }
};

void remove(Context& context, const KeyDeletion& deletion)
{
    const std::string& id = deletion.id;
    const auto links = context.links(Access::change);
    if (!deletion.sure) {
        confirm_deletion(context, links, id);
    }
    context.await(store::remove_key(links, id));
    report(context.json(), {{"id", id}, {"deleted", true}},
           "Key " + id + " is deleted.");
}

Json window_json(const api::AccountUsage::Counter& counter, std::int64_t limit)
{
    return {{"used", counter.used},
            {"limit", limit != 0 ? Json(limit) : Json(nullptr)},
            {"reset", counter.reset
                          ? Json(api::iso_time(api::seconds_up(counter.reset)))
                          : Json(nullptr)}};
}

std::vector<std::string> window_row(std::string name,
                                    const api::AccountUsage::Counter& counter,
                                    std::int64_t limit)
{
    return {std::move(name), std::to_string(counter.used),
            limit != 0 ? std::to_string(limit) : "-",
            counter.reset ? api::iso_time(api::seconds_up(counter.reset))
                          : "-"};
}

void unban_key(Context& context, const KeyId& key)
{
    const std::string& id = key.id;
    const auto links = context.links(Access::change);
    const std::string account =
        context.await(store::find_key(links, id)).record.account;
    const bool was_banned = context.await(store::unban_account(links, account));
    report(context.json(),
           {{"id", id}, {"account", account}, {"was_banned", was_banned}},
           was_banned ? "The ban of account " + account + " is lifted."
                      : "Account " + account + " was not banned.");
}

void show_key_usage(Context& context, const KeyId& key)
{
    const auto links = context.links(Access::read);
    const auto plans = context.plans();
    const auto record = context.await(store::find_key(links, key.id)).record;
    const auto used = context.await(
        store::read_usage(links, record.account, api::UsagePeriod::none()));
    const auto plan = plans.plan_in_force(record, used.account);
    Json banned_until = nullptr;
    if (used.banned_until) {
        banned_until = api::iso_time(api::seconds_up(used.banned_until));
    }

    if (context.json()) {
        print_json({{"id", record.id},
                    {"account", record.account},
                    {"plan", plan.plan},
                    {"minute", window_json(used.minute, plan.limits.minute)},
                    {"day", window_json(used.day, plan.limits.day)},
                    {"month", window_json(used.month, plan.limits.month)},
                    {"strikes", used.strikes},
                    {"bans", used.bans},
                    {"banned_until", banned_until}});
        return;
    }
    print_table({{"WINDOW", "USED", "LIMIT", "RESETS"},
                 window_row("minute", used.minute, plan.limits.minute),
                 window_row("day", used.day, plan.limits.day),
                 window_row("month", used.month, plan.limits.month)});
    print_line("denied requests in the ban window: "
               + std::to_string(used.strikes));
    print_line("bans of the last 24 hours: " + std::to_string(used.bans));
    if (used.banned_until) {
        print_line("banned until " + banned_until.get<std::string>());
    }
}

}  // namespace

void add_key_commands(CLI::App& app, Action& action)
{
    CLI::App& key = add_group(app, "key", "API keys");
    add_command(key, "create", "Create a key", action, create_key);
    add_command(key, "import",
                "Import a key issued elsewhere, from standard input", action,
                import_key);
    add_command(key, "list", "List keys, oldest first", action, list_keys)
        .alias("ls");
    add_command(key, "find", "Print the id of a key, read from standard input",
                action, find_key);
    add_command(key, "show", "Show a key", action, show);
    add_command(key, "rotate",
                "Replace a key with a new one for the same account", action,
                rotate_key);
    add_command<KeyId>(key, "disable", "Disable a key", action,
                       [](Context& context, const KeyId& named) {
                           set_disabled(context, named.id, true);
                       })
        .alias("revoke");
    add_command<KeyId>(key, "enable", "Enable a disabled key", action,
                       [](Context& context, const KeyId& named) {
                           set_disabled(context, named.id, false);
                       });
    add_command(key, "delete",
                "Delete a key (asks for confirmation on a terminal)", action,
                remove);
    add_command(key, "set", "Change a key", action, set);
    add_command(key, "unban", "End the ban of the key's account", action,
                unban_key);
    add_command(key, "usage", "Show what the key's account has used", action,
                show_key_usage);
    add_command(
        key, "export",
        "Write plans, accounts and the records of keys as NDJSON, for a backup or another Redis; without the keys themselves",
        action, export_keys);
    add_command(
        key, "restore",
        "Add the plans, accounts and keys of an export that do not exist",
        action, restore_keys);
}

}  // namespace petstore::ctl
