#include "key_commands.h"

#include <memory>
#include <unistd.h>
#include <utility>

#include "../../store/keys/key_administration.h"
#include "../accounts/account_name.h"
#include "../accounts/plan_options.h"
#include "../command_line/values.h"
#include "../exit.h"
#include "../terminal/output.h"
#include "../terminal/terminal.h"
#include "key_backup.h"
#include "key_issue.h"
#include "key_list.h"
#include "key_options.h"
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

void set(Context& context, const std::string& id, const KeyOptions& options)
{
    if (!options.any()) {
        throw UsageError("nothing to set: see petstorectl key set --help");
    }
    options.check();
    const auto servers = context.keys(Access::change);
    const api::UnixTime now = context.now(servers);
    const auto plans = context.plans();
    const auto account = shown_key(context, servers, id).account;
    bool warned = false;
    const auto change = [&](api::KeyRecord& changed) {
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
    context.await(store::update_key(servers, id, change));
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

void show(Context& context, const std::string& id)
{
    const auto servers = context.keys(Access::read);
    const auto plans = context.plans();
    const auto shown = shown_key(context, servers, id);
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

void remove(Context& context, const std::string& id, bool sure)
{
    const auto servers = context.keys(Access::change);
    if (!sure) {
        confirm_deletion(context, servers, id);
    }
    context.await(store::remove_key(servers, id));
    if (context.json()) {
        print_json({{"id", id}, {"deleted", true}});
    } else {
        say("Key " + id + " is deleted.");
    }
}

void add_id(CLI::App& command, std::string& id, const char* help)
{
    command.add_option("ID", id, help)->required();
}

// KEY, or its digest in its place.
struct Secret {
    std::string secret = "-";
    std::string sha256;

    void add_to(CLI::App& command)
    {
        CLI::Option* const key = command.add_option(
            "KEY", secret,
            "The key; - reads it from standard input, where other users of this machine cannot see it");
        refuse_empty(command
                         .add_option("--sha256", sha256,
                                     "SHA-256 of the key, instead of the key")
                         ->type_name("HEX")
                         ->excludes(key));
    }
};

// What a new key is given.
struct NewKey {
    KeyOptions options;
    NamedAccount account;

    void add_to(CLI::App& command)
    {
        account.add_option(
            command,
            "The account that gets the key; without it, a new one, which has the plan and the numbers");
        options.add_to(command);
    }
};

void add_create(CLI::App& parent, Action& action)
{
    CLI::App& command = *parent.add_subcommand("create", "Create a key");
    const auto key = std::make_shared<NewKey>();
    key->add_to(command);
    command.callback([&action, key] {
        action = [key](Context& context) {
            create_key(context, key->options, key->account);
        };
    });
}

void add_import(CLI::App& parent, Action& action)
{
    CLI::App& command = *parent.add_subcommand(
        "import", "Import a key issued elsewhere, from standard input");
    const auto secret = std::make_shared<Secret>();
    const auto key = std::make_shared<NewKey>();
    secret->add_to(command);
    key->add_to(command);
    command.callback([&action, key, secret] {
        action = [key, secret](Context& context) {
            import_key(context, key->options, key->account, secret->secret,
                       secret->sha256);
        };
    });
}

void add_list(CLI::App& parent, Action& action)
{
    CLI::App& command =
        *parent.add_subcommand("list", "List keys, oldest first");
    command.alias("ls");
    const auto filter = std::make_shared<KeyFilter>();
    filter->add_to(command);
    command.callback([&action, filter] {
        action = [filter](Context& context) { list_keys(context, *filter); };
    });
}

void add_find(CLI::App& parent, Action& action)
{
    CLI::App& command = *parent.add_subcommand(
        "find", "Print the id of a key, read from standard input");
    const auto secret = std::make_shared<Secret>();
    secret->add_to(command);
    command.callback([&action, secret] {
        action = [secret](Context& context) {
            find_key(context, secret->secret, secret->sha256);
        };
    });
}

void add_rotate(CLI::App& parent, Action& action)
{
    CLI::App& command = *parent.add_subcommand(
        "rotate", "Replace a key with a new one for the same account");
    const auto id = std::make_shared<std::string>();
    const auto grace = std::make_shared<std::string>("24h");
    add_id(command, *id, "Id of the old key");
    command
        .add_option(
            "--grace", *grace,
            "How long the old key still works: 90s, 15m, 24h, 7d; 0 ends it now")
        ->type_name("DURATION")
        ->capture_default_str();
    command.callback([&action, id, grace] {
        action = [id, grace](Context& context) {
            rotate_key(context, *id, *grace);
        };
    });
}

void add_delete(CLI::App& parent, Action& action)
{
    CLI::App& command = *parent.add_subcommand(
        "delete", "Delete a key (asks for confirmation on a terminal)");
    const auto id = std::make_shared<std::string>();
    const auto sure = std::make_shared<bool>(false);
    add_id(command, *id, "Id of the key");
    command.add_flag("-y,--yes,--force", *sure, "Do not ask");
    command.callback([&action, id, sure] {
        action = [id, sure](Context& context) { remove(context, *id, *sure); };
    });
}

void add_set(CLI::App& parent, Action& action)
{
    CLI::App& command = *parent.add_subcommand("set", "Change a key");
    const auto options = std::make_shared<KeyOptions>();
    const auto id = std::make_shared<std::string>();
    add_id(command, *id, "Id of the key");
    options->add_to(command);
    command.callback([&action, options, id] {
        action = [options, id](Context& context) {
            set(context, *id, *options);
        };
    });
}

void add_restore(CLI::App& parent, Action& action)
{
    CLI::App& command = *parent.add_subcommand(
        "restore", "Add the keys of an export that do not exist");
    const auto file = std::make_shared<std::string>();
    command.add_option("FILE", *file, "- is standard input")->required();
    command.callback([&action, file] {
        action = [file](Context& context) { restore_keys(context, *file); };
    });
}

// Adds a command whose only argument is ID.
void add_id_command(CLI::App& parent, const char* name, const char* help,
                    Action& action,
                    void (*run)(Context&, const std::string& id),
                    const char* alias = nullptr)
{
    CLI::App* command = parent.add_subcommand(name, help);
    if (alias != nullptr) {
        command->alias(alias);
    }
    const auto id = std::make_shared<std::string>();
    add_id(*command, *id, "Id of the key");
    command->callback([&action, id, run] {
        action = [id, run](Context& context) { run(context, *id); };
    });
}

}  // namespace

void add_key_commands(CLI::App& app, Action& action)
{
    CLI::App& key = *app.add_subcommand("key", "API keys");
    key.require_subcommand(1);
    add_create(key, action);
    add_import(key, action);
    add_list(key, action);
    add_find(key, action);
    add_id_command(key, "show", "Show a key", action, show);
    add_rotate(key, action);
    add_id_command(
        key, "disable", "Disable a key", action,
        [](Context& context, const std::string& id) {
            set_disabled(context, id, true);
        },
        "revoke");
    add_id_command(key, "enable", "Enable a disabled key", action,
                   [](Context& context, const std::string& id) {
                       set_disabled(context, id, false);
                   });
    add_delete(key, action);
    add_set(key, action);
    add_id_command(key, "unban", "End the ban of the key's account", action,
                   unban_key);
    add_id_command(key, "usage", "Show what the key's account has used", action,
                   show_key_usage);
    key.add_subcommand(
           "export",
           "Write the records of all keys as NDJSON, for a backup or another Redis; without the keys themselves")
        ->callback([&action] { action = export_keys; });
    add_restore(key, action);
}

}  // namespace petstore::ctl
