#include "key_commands.h"

#include <memory>
#include <unistd.h>

#include "../../store/keys/key_administration.h"
#include "../accounts/account_name.h"
#include "../accounts/plan_options.h"
#include "../command_line/update.h"
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

store::StoredKey find(Context& context, store::KeyAdministration& keys,
                      const std::string& id)
{
    return context.await<store::StoredKey>(
        [&](auto& waiter) { keys.find(id, waiter); });
}

// Reads the key with its account, and reports a change that was made to it.
void report_key(Context& context, const store::KeyServers& servers,
                const std::string& id, const std::string& message)
{
    if (!context.json()) {
        return say(message);
    }
    store::KeyAdministration keys(servers);
    const auto shown = shown_key(context, servers, find(context, keys, id));
    print_json(json_of(shown, context.plans(), now_of(context, servers)));
}

void set(Context& context, const std::string& id, const KeyOptions& options)
{
    if (!options.any()) {
        throw UsageError("nothing to set: see petstorectl key set --help");
    }
    options.check();
    const auto servers = context.keys(Access::change);
    store::KeyAdministration keys(servers);
    const api::UnixTime now = now_of(context, servers);
    const auto plans = context.plans();
    const auto account =
        shown_key(context, servers, find(context, keys, id)).account;
    update<api::KeyRecord>(context, keys, id, [&](api::KeyRecord& changed) {
        options.apply(changed, now);
        if (options.plan.any()) {
            check_plan(plans.plan_in_force(changed, account), plans, "key");
        }
        check_expiry(changed, now);
    });
    report_key(context, servers, id, "Key " + id + " is changed.");
}

void set_disabled(Context& context, const std::string& id, bool disabled)
{
    const auto servers = context.keys(Access::change);
    update<api::KeyRecord>(
        context, store::KeyAdministration(servers), id,
        [&](api::KeyRecord& changed) { changed.disabled = disabled; });
    report_key(context, servers, id,
               "Key " + id + (disabled ? " is disabled." : " is enabled."));
}

void show(Context& context, const std::string& id)
{
    const auto servers = context.keys(Access::read);
    const auto plans = context.plans();
    store::KeyAdministration keys(servers);
    const auto shown = shown_key(context, servers, find(context, keys, id));
    const api::UnixTime now = now_of(context, servers);
    if (context.json()) {
        print_json(json_of(shown, plans, now));
    } else {
        print_key(shown, plans, now);
    }
}

// Asks for confirmation before a key is deleted for good, but only on a
// terminal.
void confirm_deletion(Context& context, store::KeyAdministration& keys,
                      const std::string& id)
{
    if (!is_terminal(STDIN_FILENO)) {
        return;
    }
    std::string known;
    try {
        const api::KeyRecord record = find(context, keys, id).record;
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
    store::KeyAdministration keys(context.keys(Access::change));
    if (!sure) {
        confirm_deletion(context, keys, id);
    }
    context.await<store::Done>([&](auto& waiter) { keys.remove(id, waiter); });
    if (context.json()) {
        print_json({{"id", id}, {"deleted", true}});
    } else {
        say("Key " + id + " is deleted.");
    }
}

constexpr char kAccountHelp[] =
    "The account that gets the key; without it, a new one, which has the plan and the numbers";

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
    command->add_option("ID", *id, "Id of the key")->required();
    command->callback([&action, id, run] {
        action = [id, run](Context& context) { run(context, *id); };
    });
}

// Instead of the key itself, which is the argument `key`.
void add_sha256(CLI::App& command, std::string& hex, CLI::Option* key)
{
    refuse_empty(command
                     .add_option("--sha256", hex,
                                 "SHA-256 of the key, instead of the key")
                     ->type_name("HEX")
                     ->excludes(key));
}

}  // namespace

void add_key_commands(CLI::App& app, Action& action)
{
    CLI::App& key = *app.add_subcommand("key", "API keys");
    key.require_subcommand(1);

    CLI::App* command = key.add_subcommand("create", "Create a key");
    auto options = std::make_shared<KeyOptions>();
    auto account = std::make_shared<NamedAccount>();
    account->add_option(*command, kAccountHelp);
    options->add_to(*command);
    command->callback([&action, options, account] {
        action = [options, account](Context& context) {
            create_key(context, *options, *account);
        };
    });

    command = key.add_subcommand(
        "import", "Import a key issued elsewhere, from standard input");
    options = std::make_shared<KeyOptions>();
    const auto secret = std::make_shared<std::string>("-");
    const auto hex = std::make_shared<std::string>();
    auto* argument = command->add_option(
        "KEY", *secret,
        "The key; - reads it from standard input, where other users of this machine cannot see it");
    add_sha256(*command, *hex, argument);
    account = std::make_shared<NamedAccount>();
    account->add_option(*command, kAccountHelp);
    options->add_to(*command);
    command->callback([&action, options, account, secret, hex] {
        action = [options, account, secret, hex](Context& context) {
            import_key(context, *options, *account, *secret, *hex);
        };
    });

    command = key.add_subcommand("list", "List keys, oldest first");
    command->alias("ls");
    const auto filter = std::make_shared<KeyFilter>();
    filter->add_to(*command);
    command->callback([&action, filter] {
        action = [filter](Context& context) { list_keys(context, *filter); };
    });

    command = key.add_subcommand(
        "find", "Print the id of a key, read from standard input");
    const auto sought = std::make_shared<std::string>("-");
    const auto sought_hex = std::make_shared<std::string>();
    argument = command->add_option(
        "KEY", *sought,
        "The key; - reads it from standard input, where other users of this machine cannot see it");
    add_sha256(*command, *sought_hex, argument);
    command->callback([&action, sought, sought_hex] {
        action = [sought, sought_hex](Context& context) {
            find_key(context, *sought, *sought_hex);
        };
    });

    add_id_command(key, "show", "Show a key", action, show);

    command = key.add_subcommand(
        "rotate", "Replace a key with a new one for the same account");
    const auto id = std::make_shared<std::string>();
    const auto grace = std::make_shared<std::string>("24h");
    command->add_option("ID", *id, "Id of the old key")->required();
    command
        ->add_option(
            "--grace", *grace,
            "How long the old key still works: 90s, 15m, 24h, 7d; 0 ends it now")
        ->type_name("DURATION")
        ->capture_default_str();
    command->callback([&action, id, grace] {
        action = [id, grace](Context& context) {
            rotate_key(context, *id, *grace);
        };
    });

    add_id_command(
        key, "disable", "Disable a key", action,
        [](Context& context, const std::string& key_id) {
            set_disabled(context, key_id, true);
        },
        "revoke");
    add_id_command(key, "enable", "Enable a disabled key", action,
                   [](Context& context, const std::string& key_id) {
                       set_disabled(context, key_id, false);
                   });

    command = key.add_subcommand(
        "delete", "Delete a key (asks for confirmation on a terminal)");
    const auto doomed = std::make_shared<std::string>();
    const auto sure = std::make_shared<bool>(false);
    command->add_option("ID", *doomed, "Id of the key")->required();
    command->add_flag("-y,--yes,--force", *sure, "Do not ask");
    command->callback([&action, doomed, sure] {
        action = [doomed, sure](Context& context) {
            remove(context, *doomed, *sure);
        };
    });

    command = key.add_subcommand("set", "Change a key");
    options = std::make_shared<KeyOptions>();
    const auto set_id = std::make_shared<std::string>();
    command->add_option("ID", *set_id, "Id of the key")->required();
    options->add_to(*command);
    command->callback([&action, options, set_id] {
        action = [options, set_id](Context& context) {
            set(context, *set_id, *options);
        };
    });

    add_id_command(key, "unban", "End the ban of the key's account", action,
                   unban_key);
    add_id_command(key, "usage", "Show what the key's account has used", action,
                   show_key_usage);

    key.add_subcommand(
           "export",
           "Write the records of all keys as NDJSON, for a backup or another Redis; without the keys themselves")
        ->callback([&action] { action = export_keys; });
    command = key.add_subcommand("restore",
                                 "Add the keys of an export that do not exist");
    const auto file = std::make_shared<std::string>();
    command->add_option("FILE", *file, "- is standard input")->required();
    command->callback([&action, file] {
        action = [file](Context& context) { restore_keys(context, *file); };
    });
}

}  // namespace petstore::ctl
