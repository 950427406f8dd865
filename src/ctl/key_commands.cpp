#include "key_commands.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <openssl/rand.h>

#include "../api/bearer.h"
#include "../api/date.h"
#include "../api/plan.h"
#include "../api/text.h"
#include "digest_hex.h"
#include "exit.h"
#include "key_options.h"
#include "key_store.h"
#include "output.h"

namespace petstore::ctl {

namespace {

constexpr std::size_t kIdLength = 16;
constexpr std::size_t kLast4 = 4;
// Four characters of a shorter key would tell too much of it.
constexpr std::size_t kShortestToShow = 12;
constexpr std::int64_t kMaxGrace = std::int64_t{3650} * 24 * 60 * 60;

api::Digest random_digest()
{
    api::Digest random;
    if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) {
        throw Failure("OpenSSL has no random numbers");
    }
    return random;
}

std::string new_id()
{
    return api::base62_id(random_digest(), kIdLength);
}

std::string last4_of(const std::string& key)
{
    return key.size() < kShortestToShow ? "" : key.substr(key.size() - kLast4);
}

// A secret goes to standard output, alone, so that KEY=$(petstorectl …) works.
void print_new_key(const Context& context, const api::KeyRecord& record,
                   const std::string& secret)
{
    if (context.json()) {
        print_json(json_of(record, secret));
        return;
    }
    say("Key " + record.id + " of account " + record.account + ", plan "
        + record.plan + ". It is shown this once:");
    print_line(secret);
}

void report_change(const Context& context, const api::KeyRecord& record,
                   const std::string& message)
{
    if (context.json()) {
        print_json(json_of(record));
    } else {
        say(message);
    }
}

void create(Context& context, const KeyOptions& options)
{
    StoredKey key;
    options.apply(key.record);
    KeyStore store(context.redis(), context.schema());
    key.record.created = store.now();
    check_record(key.record, key.record.created);
    key.record.id = new_id();
    key.record.account = new_id();
    const std::string secret =
        api::make_key(context.schema().prefix(), random_digest());
    key.record.last4 = last4_of(secret);
    key.digest = api::sha256(secret);
    store.add(key);
    print_new_key(context, key.record, secret);
}

std::string read_key(const std::string& argument)
{
    if (argument != "-") {
        return argument;
    }
    std::string key;
    std::getline(std::cin, key);
    if (!key.empty() && key.back() == '\r') {
        key.pop_back();
    }
    return key;
}

void import(Context& context, const KeyOptions& options,
            const std::string& argument, const std::string& hex)
{
    StoredKey key;
    options.apply(key.record);
    if (!hex.empty()) {
        const auto digest = digest_of_hex(hex);
        if (!digest) {
            throw UsageError("--sha256 must be 64 hexadecimal digits");
        }
        key.digest = *digest;
    } else {
        const std::string secret = read_key(argument);
        if (secret.size() > api::kMaxKeyLength
            || !api::is_visible_ascii(secret)) {
            throw Failure("a key has 1 to 512 visible ASCII characters");
        }
        if (api::key_form(secret, context.schema().prefix())
            == api::KeyForm::malformed) {
            throw Failure("the key looks like one of this store but its "
                          "checksum is wrong: mistyped or cut?");
        }
        key.digest = api::sha256(secret);
        key.record.last4 = last4_of(secret);
    }

    KeyStore store(context.redis(), context.schema());
    key.record.created = store.now();
    check_record(key.record, key.record.created);
    key.record.id = new_id();
    key.record.account = new_id();
    store.add(key);
    report_change(context, key.record, "Imported, its id is:");
    if (!context.json()) {
        print_line(key.record.id);
    }
}

void rotate(Context& context, const std::string& id, const std::string& grace)
{
    const auto seconds = api::parse_duration(grace);
    if (!seconds || *seconds < 0 || *seconds > kMaxGrace) {
        throw UsageError("--grace must be a duration like 90s, 15m, 24h or 7d, "
                         "at most 3650d");
    }

    KeyStore store(context.redis(), context.schema());
    const api::UnixTime now = store.now();
    StoredKey key = store.find(id);
    if (key.record.expires && *key.record.expires <= now) {
        throw Failure("key " + id + " has expired: set a new --expires first");
    }

    // Its end is that of its grace, nothing to hand on.
    if (!key.record.replaced_by.empty()) {
        throw Failure("key " + id + " was rotated before: rotate key "
                      + key.record.replaced_by + ", which replaced it");
    }

    const std::string secret =
        api::make_key(context.schema().prefix(), random_digest());
    key.digest = api::sha256(secret);
    key.record.id = new_id();
    key.record.created = now;
    key.record.disabled = false;
    key.record.last4 = last4_of(secret);
    store.add(key);

    const api::UnixTime end = now + *seconds;
    const auto old = store.update(id, [&](api::KeyRecord& changed) {
        changed.expires = std::min(changed.expires.value_or(end), end);
        changed.replaced_by = key.record.id;
    });
    if (!context.json()) {
        say("Key " + id + " ends on " + api::iso_time(*old.expires) + ".");
    }
    print_new_key(context, key.record, secret);
}

void set(Context& context, const std::string& id, const KeyOptions& options)
{
    if (!options.any()) {
        throw UsageError("nothing to set: see petstorectl key set --help");
    }
    api::KeyRecord scratch;
    options.apply(scratch);

    KeyStore store(context.redis(), context.schema());
    api::KeyRecord wanted = store.find(id).record;
    options.apply(wanted);
    check_record(wanted, store.now());
    const auto record = store.update(
        id, [&](api::KeyRecord& changed) { options.apply(changed); });
    report_change(context, record, "Key " + id + " is changed.");
}

void set_disabled(Context& context, const std::string& id, bool disabled)
{
    KeyStore store(context.redis(), context.schema());
    const auto record = store.update(
        id, [&](api::KeyRecord& changed) { changed.disabled = disabled; });
    report_change(context, record,
                  "Key " + id + (disabled ? " is disabled." : " is enabled."));
}

void list(Context& context)
{
    KeyStore store(context.redis(), context.schema());
    const auto keys = store.list();
    if (!context.json()) {
        print_keys(keys, store.now());
        return;
    }
    Json array = Json::array();
    for (const StoredKey& key : keys) {
        array.push_back(json_of(key.record));
    }
    print_json(array);
}

void show(Context& context, const std::string& id)
{
    KeyStore store(context.redis(), context.schema());
    const auto record = store.find(id).record;
    if (context.json()) {
        print_json(json_of(record));
    } else {
        print_key(record);
    }
}

void remove(Context& context, const std::string& id)
{
    KeyStore(context.redis(), context.schema()).remove(id);
    if (context.json()) {
        print_json({{"id", id}, {"deleted", true}});
    } else {
        say("Key " + id + " is deleted.");
    }
}

void unban(Context& context, const std::string& id)
{
    KeyStore store(context.redis(), context.schema());
    const std::string account = store.find(id).record.account;
    const bool was_banned = store.unban(account);
    if (context.json()) {
        print_json(
            {{"id", id}, {"account", account}, {"was_banned", was_banned}});
    } else {
        say(was_banned ? "The ban of account " + account + " is lifted."
                       : "Account " + account + " was not banned.");
    }
}

// A limit that nginx alone knows is null.
Json json_of(const AccountUsage::Counter& counter,
             const std::optional<std::int64_t>& limit)
{
    Json json = {
        {"used", counter.used}, {"limit", nullptr}, {"reset", nullptr}};
    if (limit) {
        json["limit"] = *limit;
    }
    if (counter.reset) {
        json["reset"] = api::iso_time(api::seconds_up(counter.reset));
    }
    return json;
}

std::vector<std::string> row_of(std::string name,
                                const AccountUsage::Counter& counter,
                                const std::optional<std::int64_t>& limit)
{
    return {std::move(name), std::to_string(counter.used),
            limit ? std::to_string(*limit) : "?",
            counter.reset ? api::iso_time(api::seconds_up(counter.reset))
                          : "-"};
}

void usage(Context& context, const std::string& id)
{
    KeyStore store(context.redis(), context.schema());
    const api::KeyRecord record = store.find(id).record;
    const AccountUsage used = store.usage(record.account);

    const api::PlanTable plans;
    std::optional<std::int64_t> minute = record.per_minute;
    std::optional<std::int64_t> day = record.per_day;
    if (plans.knows(record.plan)) {
        minute = plans.limits_of(record).minute;
        day = plans.limits_of(record).day;
    }
    Json banned_until = nullptr;
    if (used.banned_until) {
        banned_until = api::iso_time(api::seconds_up(used.banned_until));
    }

    if (context.json()) {
        print_json({{"id", record.id},
                    {"account", record.account},
                    {"plan", record.plan},
                    {"minute", json_of(used.minute, minute)},
                    {"day", json_of(used.day, day)},
                    {"strikes", used.strikes},
                    {"bans", used.bans},
                    {"banned_until", banned_until}});
        return;
    }
    print_table({{"WINDOW", "USED", "LIMIT", "RESETS"},
                 row_of("minute", used.minute, minute),
                 row_of("day", used.day, day)});
    print_line("denied requests in the ban window: "
               + std::to_string(used.strikes));
    print_line("bans of the last 24 hours: " + std::to_string(used.bans));
    if (used.banned_until) {
        print_line("banned until " + banned_until.get<std::string>());
    }
}

// A command with an ID and nothing else.
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

    CLI::App* command = key.add_subcommand("create", "Make a new key");
    auto options = std::make_shared<KeyOptions>();
    options->add_to(*command);
    command->callback([&action, options] {
        action = [options](Context& context) { create(context, *options); };
    });

    command = key.add_subcommand(
        "import", "Take over a key made elsewhere, read from standard input");
    options = std::make_shared<KeyOptions>();
    const auto secret = std::make_shared<std::string>("-");
    const auto hex = std::make_shared<std::string>();
    auto* argument = command->add_option(
        "KEY", *secret,
        "The key; - reads it from standard input, where others on this "
        "machine don't see it");
    command->add_option("--sha256", *hex, "The SHA-256 of the key instead")
        ->excludes(argument);
    options->add_to(*command);
    command->callback([&action, options, secret, hex] {
        action = [options, secret, hex](Context& context) {
            import(context, *options, *secret, *hex);
        };
    });

    command = key.add_subcommand("list", "All keys, oldest first");
    command->callback([&action] { action = list; });

    add_id_command(key, "show", "One key", action, show);

    command = key.add_subcommand(
        "rotate", "Make a new key for an account and let the old one end");
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
            rotate(context, *id, *grace);
        };
    });

    add_id_command(key, "disable", "Refuse a key", action,
                   [](Context& context, const std::string& key_id) {
                       set_disabled(context, key_id, true);
                   });
    add_id_command(key, "enable", "Accept a disabled key again", action,
                   [](Context& context, const std::string& key_id) {
                       set_disabled(context, key_id, false);
                   });
    add_id_command(key, "delete", "Remove a key", action, remove);

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

    add_id_command(key, "unban", "End a ban of the key's account", action,
                   unban);
    add_id_command(key, "usage", "What the key's account has used up", action,
                   usage);
}

}  // namespace petstore::ctl
