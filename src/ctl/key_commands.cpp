#include "key_commands.h"

#include <memory>

#include "../store/keys/key_administration.h"
#include "account_commands.h"
#include "exit.h"
#include "key_issue.h"
#include "key_options.h"
#include "output.h"

namespace petstore::ctl {

namespace {

void report_change(const Context& context, const api::KeyRecord& record,
                   const std::string& message)
{
    if (context.json()) {
        print_json(json_of(record));
    } else {
        say(message);
    }
}

void set(Context& context, const std::string& id, const KeyOptions& options)
{
    if (!options.any()) {
        throw UsageError("nothing to set: see petstorectl key set --help");
    }
    api::KeyRecord scratch;
    options.apply(scratch);

    auto keys = context.keys(Access::change);
    const api::UnixTime now = keys.now();
    const auto record = keys.update(id, [&](api::KeyRecord& changed) {
        options.apply(changed);
        check_record(changed, now);
    });
    report_change(context, record, "Key " + id + " is changed.");
}

void set_disabled(Context& context, const std::string& id, bool disabled)
{
    auto keys = context.keys(Access::change);
    const auto record = keys.update(
        id, [&](api::KeyRecord& changed) { changed.disabled = disabled; });
    report_change(context, record,
                  "Key " + id + (disabled ? " is disabled." : " is enabled."));
}

void list(Context& context)
{
    auto keys = context.keys(Access::read);
    const auto listing = keys.list();
    if (context.json()) {
        Json array = Json::array();
        for (const store::StoredKey& key : listing.keys) {
            array.push_back(json_of(key.record));
        }
        print_json(array);
    } else {
        print_keys(listing.keys, keys.now());
    }
    for (const std::string& id : listing.missing) {
        warn("key " + id
             + " is listed but has no record, an interrupted command left it: "
               "petstorectl key delete "
             + id + " removes the entry");
    }
    for (const std::string& id : listing.damaged) {
        warn("the record of key " + id + " is damaged");
    }
}

void show(Context& context, const std::string& id)
{
    auto keys = context.keys(Access::read);
    const auto record = keys.find(id).record;
    if (context.json()) {
        print_json(json_of(record));
    } else {
        print_key(record);
    }
}

void remove(Context& context, const std::string& id)
{
    context.keys(Access::change).remove(id);
    if (context.json()) {
        print_json({{"id", id}, {"deleted", true}});
    } else {
        say("Key " + id + " is deleted.");
    }
}

// Adds a command whose only argument is ID.
void add_id_command(CLI::App& parent, const char* name, const char* help,
                    Action& action,
                    void (*run)(Context&, const std::string& id))
{
    CLI::App* command = parent.add_subcommand(name, help);
    const auto id = std::make_shared<std::string>();
    command->add_option("ID", *id, "Id of the key")->required();
    command->callback([&action, id, run] {
        action = [id, run](Context& context) { run(context, *id); };
    });
}

}  // namespace

void add_key_commands(CLI::App& app, Action& action)
{
    CLI::App& key = *app.add_subcommand("key", "API keys");
    key.require_subcommand(1);

    CLI::App* command = key.add_subcommand("create", "Create a key");
    auto options = std::make_shared<KeyOptions>();
    options->add_to(*command);
    command->callback([&action, options] {
        action = [options](Context& context) { create_key(context, *options); };
    });

    command = key.add_subcommand(
        "import", "Import a key issued elsewhere, from standard input");
    options = std::make_shared<KeyOptions>();
    const auto secret = std::make_shared<std::string>("-");
    const auto hex = std::make_shared<std::string>();
    auto* argument = command->add_option(
        "KEY", *secret,
        "The key; - reads it from standard input, where other users of this "
        "machine cannot see it");
    command
        ->add_option("--sha256", *hex, "SHA-256 of the key, instead of the key")
        ->excludes(argument);
    options->add_to(*command);
    command->callback([&action, options, secret, hex] {
        action = [options, secret, hex](Context& context) {
            import_key(context, *options, *secret, *hex);
        };
    });

    command = key.add_subcommand("list", "List all keys, oldest first");
    command->callback([&action] { action = list; });

    add_id_command(key, "show", "Show a key", action, show);

    command = key.add_subcommand(
        "rotate", "Replace a key by a new one of the same account");
    const auto id = std::make_shared<std::string>();
    const auto grace = std::make_shared<std::string>("24h");
    command->add_option("ID", *id, "Id of the old key")->required();
    command
        ->add_option("--grace", *grace,
                     "How long the old key still works: 90s, 15m, 24h, 7d; "
                     "0 ends it now")
        ->capture_default_str();
    command->callback([&action, id, grace] {
        action = [id, grace](Context& context) {
            rotate_key(context, *id, *grace);
        };
    });

    add_id_command(key, "disable", "Disable a key", action,
                   [](Context& context, const std::string& key_id) {
                       set_disabled(context, key_id, true);
                   });
    add_id_command(key, "enable", "Enable a disabled key", action,
                   [](Context& context, const std::string& key_id) {
                       set_disabled(context, key_id, false);
                   });
    add_id_command(key, "delete", "Delete a key", action, remove);

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
                   unban_account);
    add_id_command(key, "usage", "Show what the key's account has used", action,
                   show_usage);
}

}  // namespace petstore::ctl
