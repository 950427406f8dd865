#include "key_commands.h"

#include <exception>
#include <unistd.h>
#include <utility>

#include "../../store/keys/key_administration.h"
#include "../accounts/plan_options.h"
#include "../command_line/commands.h"
#include "../exit.h"
#include "../terminal/output.h"
#include "../terminal/terminal.h"
#include "key_output.h"
#include "key_usage.h"

namespace petstore::ctl {

namespace {

// Reads the key with its account, and reports a change that was made to it.
void report_key(Context& context, const store::KeyServers& servers,
                const std::string& id, const std::string& message)
{
    if (!context.json()) {
        return say(message);
    }
    const auto shown = shown_key(context, servers, id);
    print_json(json_of(shown, context.plans(), context.now(servers)));
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
    const auto servers = context.keys(Access::change);
    const api::UnixTime now = context.now(servers);
    const auto plans = context.plans();
    const auto account = shown_key(context, servers, id).account;
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
    context.await(store::update_key(servers, id, keep_error(error, apply)),
                  error);
    report_key(context, servers, id, "Key " + id + " is changed.");
}

void set_disabled(Context& context, const std::string& id, bool disabled)
{
    const auto servers = context.keys(Access::change);
    context.await(store::update_key(servers, id, [&](api::KeyRecord& changed) {
        changed.disabled = disabled;
    }));
    report_key(context, servers, id,
               "Key " + id + (disabled ? " is disabled." : " is enabled."));
}

void show(Context& context, const KeyId& named)
{
    const auto servers = context.keys(Access::read);
    const auto plans = context.plans();
    const auto shown = shown_key(context, servers, named.id);
    const api::UnixTime now = context.now(servers);
    if (context.json()) {
        print_json(json_of(shown, plans, now));
    } else {
        print_key(shown, plans, now);
    }
}

// Asks for confirmation before a key is deleted for good, but only on a
// terminal.
void confirm_deletion(Context& context, const store::KeyServers& servers,
                      const std::string& id)
{
    if (!is_terminal(STDIN_FILENO)) {
        return;
    }
    std::string known;
    try {
        const auto record = context.await(store::find_key(servers, id)).record;
        known = ' ' + id;
        if (!record.plan.empty()) {
            known += ", plan " + record.plan;
        }
        if (!record.label.empty()) {
            known += ", label " + record.label;
        }
    } catch (const LostConnection&) {
        throw;
    } catch (const Failure& failure) {
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
    const auto servers = context.keys(Access::change);
    if (!deletion.sure) {
        confirm_deletion(context, servers, id);
    }
    context.await(store::remove_key(servers, id));
    report(context.json(), {{"id", id}, {"deleted", true}},
           "Key " + id + " is deleted.");
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
        "Write the records of all keys as NDJSON, for a backup or another Redis; without the keys themselves",
        action, export_keys);
    add_command(key, "restore", "Add the keys of an export that do not exist",
                action, restore_keys);
}

}  // namespace petstore::ctl
