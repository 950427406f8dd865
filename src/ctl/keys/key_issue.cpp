#include "key_commands.h"

#include <chrono>
#include <csignal>
#include <optional>
#include <thread>
#include <utility>

#include "../../api/bearer.h"
#include "../../api/date.h"
#include "../../api/text.h"
#include "../../store/accounts/account_administration.h"
#include "../../store/keys/key_administration.h"
#include "../../store/keys/key_rotation.h"
#include "../../store/random.h"
#include "../accounts/account_output.h"
#include "../command_line/values.h"
#include "../exit.h"
#include "../pets/line_reader.h"
#include "../terminal/interruption.h"
#include "../terminal/output.h"
#include "key_output.h"

namespace petstore::ctl {

namespace {

constexpr std::chrono::milliseconds kPollInterval{50};

// Prints only the secret to standard output, so that KEY=$(petstorectl …)
// works. Returns once all of it is written.
void show(const Context& context, ShownKey shown, const api::PlanTable& plans,
          const std::string& secret)
{
    // Report a closed pipe as an error, so that the caller can clean up.
    std::signal(SIGPIPE, SIG_IGN);
    const api::KeyRecord& record = shown.key.record;
    shown.key.unfinished = false;  // print its final state
    if (context.json()) {
        print_json(json_of(shown, plans, record.created, secret));
    } else {
        const auto plan = plans.plan_in_force(record, shown.account);
        say("Key " + record.id + " of account " + record.account + ", plan "
            + plan_text(plans, plan.plan) + ". The secret is shown only once:");
        print_line(secret);
    }
    flush_output();
}

// `undo` removes a key whose secret could not be shown.
template <class Undo>
void show_or_undo(const Context& context, const ShownKey& shown,
                  const api::PlanTable& plans, const std::string& secret,
                  Undo undo)
{
    try {
        show(context, shown, plans, secret);
    } catch (const Failure& unshown) {
        try {
            undo();
        } catch (const Failure& failure) {
            throw Failure(std::string(unshown.what())
                          + "; removing the new key failed, too ("
                          + failure.what()
                          + "). It does not work; run petstorectl key delete "
                          + shown.key.record.id);
        }
        throw;
    }
}

std::string read_secret(const std::string& argument)
{
    if (argument != "-") {
        return argument;
    }
    LineReader lines("-");
    const Interruption interruption;
    std::string_view line;
    if (!lines.next(line, interruption) && interruption.requested()) {
        throw Failure("interrupted");
    }
    std::string secret(line);
    if (!secret.empty() && secret.back() == '\r') {
        secret.pop_back();
    }
    // Refuse a list of keys, of which all but the first would be ignored
    // silently. Check only what has arrived: the writer may keep the pipe open
    // and wait for the id.
    if (lines.read_ahead().find_first_not_of(" \t\r\n")
        != std::string_view::npos) {
        throw Failure("standard input has several lines: give one key");
    }
    if (secret.empty()) {
        throw Failure("there is no key on standard input");
    }
    return secret;
}

api::Digest digest_option(const std::string& sha256)
{
    const auto digest = api::digest_of_hex(sha256);
    if (!digest) {
        throw UsageError("--sha256 must be 64 hexadecimal digits");
    }
    return *digest;
}

// nullptr if `secret` may be a key.
const char* secret_problem(const Context& context, const std::string& secret)
{
    if (secret.size() > api::kMaxKeyLength || !api::is_visible_ascii(secret)) {
        return "a key has 1 to 512 visible ASCII characters";
    }
    if (api::key_form(secret, context.schema().prefix())
        == api::KeyForm::malformed) {
        return "the key looks like one of this store, but its checksum is wrong: it may be mistyped or truncated";
    }
    return nullptr;
}

std::string checked_secret(const Context& context, const std::string& argument)
{
    std::string secret = read_secret(argument);
    if (const char* problem = secret_problem(context, secret)) {
        if (argument != "-") {
            throw UsageError(problem);
        }
        throw Failure(problem);
    }
    return secret;
}

class SteadyClock final : public store::Clock {
public:
    store::Monotonic monotonic() const noexcept override
    {
        return static_cast<store::Monotonic>(
            std::chrono::duration_cast<std::chrono::milliseconds>(
                std::chrono::steady_clock::now().time_since_epoch())
                .count());
    }
    api::Millis host_time() const noexcept override
    {
        return std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::system_clock::now().time_since_epoch())
            .count();
    }
};

// A key with the options' properties, and its account: the one named, or a new
// one, which the store will give plan, numbers and label of the key.
ShownKey issue(Context& context, const store::StoreLinks& links,
               const api::PlanTable& plans, const NewKey& key)
{
    const NamedAccount& name = key.account;
    ShownKey issued;
    api::KeyRecord& record = issued.key.record;
    api::AccountRecord& account = issued.account;
    record.id = store::new_id();
    record.created = context.now(links);
    key.options.apply(record, record.created);
    if (name.given()) {
        account = context.await(store::find_account(links, name));
    } else {
        account.own_plan() = record.own_plan();
        account.id = store::new_id();
    }
    record.account = account.id;
    const auto plan = plans.plan_in_force(record, account);
    check_numbers(plan, plans);
    warn_of_plan(plan, plans, "key");
    warn_of_expiry(record, record.created);
    return issued;
}

// Waits while another rotation has a claim.
store::StoredKey begin(Context& context, const store::StoreLinks& links,
                       const std::string& id, const store::StoredKey& next)
{
    const SteadyClock clock;
    store::WatchedClaim watched;
    for (;;) {
        auto key = context.await(
            store::begin_rotation(links, id, next, clock, watched));
        if (key) {
            return std::move(*key);
        }
        std::this_thread::sleep_for(kPollInterval);
    }
}

}  // namespace

void create_key(Context& context, const NewKey& key)
{
    const NamedAccount& account = key.account;
    key.options.check();
    const auto links = context.links(Access::change);
    const auto plans = context.plans();
    auto issued = issue(context, links, plans, key);
    const std::string secret =
        store::give_secret(issued.key, context.schema().prefix());

    issued.key =
        context.await(store::store_key(links, issued.key, account.name()));
    show_or_undo(context, issued, plans, secret,
                 [&] { context.await(store::discard_key(links, issued.key)); });
    try {
        context.await(store::enable_key(links, issued.key,
                                        store::SecretOrigin::generated));
    } catch (const Failure& failure) {
        if (failure.kind() == Failure::Kind::not_found) {
            throw;
        }
        // Not "not in effect", which advises to run the command again: that
        // would create another key.
        const bool is_of_redis =
            failure.kind() == Failure::Kind::redis_unavailable;
        throw Failure(
            std::string(failure.what())
                + "; the key shown does not work until you run petstorectl key enable "
                + issued.key.record.id,
            is_of_redis ? failure.kind() : Failure::Kind::failed);
    }
}

void import_key(Context& context, const ImportedKey& imported)
{
    const KeyArgument& argument = imported.argument;
    const NamedAccount& account = imported.key.account;
    imported.key.options.check();
    store::StoredKey sent;
    if (!argument.sha256.empty()) {
        sent.digest = digest_option(argument.sha256);
    } else {
        store::set_secret(sent, checked_secret(context, argument.secret));
    }

    const auto links = context.links(Access::change);
    const auto plans = context.plans();
    auto issued = issue(context, links, plans, imported.key);
    issued.key.digest = sent.digest;
    issued.key.record.last4 = sent.record.last4;
    issued.key =
        context.await(store::add_key(links, issued.key, account.name()));

    if (context.json()) {
        const auto shown = shown_key(context, links, issued.key);
        print_json(json_of(shown, plans, context.now(links)));
    } else {
        say("The key is imported. Its id is:");
        print_line(issued.key.record.id);
    }
}

void find_key(Context& context, const KeyArgument& argument)
{
    api::Digest digest;
    if (!argument.sha256.empty()) {
        digest = digest_option(argument.sha256);
    } else {
        digest = api::sha256(checked_secret(context, argument.secret));
    }
    const auto links = context.links(Access::read);
    const auto key = context.await(store::find_optional(links, digest));
    if (!key) {
        throw Failure("there is no such key", Failure::Kind::not_found);
    }
    if (context.json()) {
        const auto shown = shown_key(context, links, *key);
        print_json(json_of(shown, context.plans(), context.now(links)));
    } else {
        print_line(key->record.id);
    }
}

void KeyRotation::add_to(CLI::App& command)
{
    key.add_to(command, "Id of the old key");
    add_value(
        command, "--grace", "DURATION", grace,
        "How long the old key still works: 90s, 15m, 24h, 7d; 0 ends it now")
        ->capture_default_str();
}

void rotate_key(Context& context, const KeyRotation& options)
{
    const std::string& id = options.key.id;
    const auto seconds = api::parse_duration(options.grace);
    if (!seconds || *seconds < 0 || *seconds > api::kMaxGrace) {
        throw UsageError(
            "--grace must be a duration like 90s, 15m, 24h or 7d, at most 3650d");
    }

    const auto links = context.links(Access::change);
    store::StoredKey next;
    next.record.id = store::new_id();
    next.record.created = context.now(links);
    const std::string secret =
        store::give_secret(next, context.schema().prefix());

    next = begin(context, links, id, next);
    show_or_undo(
        context, shown_key(context, links, next), context.plans(), secret,
        [&] { context.await(store::abandon_rotation(links, id, next)); });
    api::KeyRecord old;
    try {
        old = context.await(store::finish_rotation(links, id, next, *seconds));
    } catch (const Failure& failure) {
        if (failure.kind() == Failure::Kind::not_found) {
            throw;
        }
        throw Failure(
            std::string(failure.what())
                + "; the key shown may not work: run the command again, which makes another one or names the key that replaced key "
                + id,
            failure.kind());
    }
    if (!context.json()) {
        say("Key " + id + " ends on " + api::iso_time(*old.expires) + ".");
    }
}

}  // namespace petstore::ctl
