#include "account_tasks.h"

#include <algorithm>
#include <utility>

#include "../../redis/reply_fields.h"
#include "../keys/key_administration.h"
#include "../scan_tasks.h"
#include "../scripts.h"
#include "account_commands.h"
#include "account_index_tasks.h"
#include "external_id_tasks.h"

namespace petstore::store {

redis::Command get_command(const std::string& key)
{
    return std::move(redis::Command("GET").key(key));
}

Task<api::UnixTime> redis_time(redis::Link& link)
{
    const redis::Reply& reply = co_await ask(link, redis::Command("TIME"));
    const auto time = redis::parse_time(reply);
    if (!time) {
        throw Failed{unavailable()};
    }
    co_return *time / 1000;
}

Task<MarkedLimits> read_limits_marker(redis::Link& link, const Schema& schema)
{
    const redis::Reply& marker =
        co_await ask(link, get_command(schema.limits_marker()));
    co_return parse_limits_marker(marker.text());
}

Task<std::string> epoch_before(const StoreLinks& links,
                               const std::string& account)
{
    constexpr std::size_t kSize = 8;
    if (links.share_a_server()) {
        co_return "";
    }
    redis::Command command("GETRANGE");
    command.key(links.schema.account_state(account)).arg(0).arg(kSize - 1);
    const redis::Reply& reply =
        co_await ask(links.accounts, std::move(command));
    // Without a state zeros, which no state begins with.
    std::string epoch(reply.text());
    epoch.resize(kSize);
    co_return epoch;
}

namespace {

// `of_new_key`: see touch_account.lua.
Task<> touch(const StoreLinks& links, const std::string& account,
             const WrittenEpoch& written, bool of_new_key)
{
    const char* const new_key = of_new_key ? "1" : "";
    redis::Command command(scripts().touch_account, 1);
    command.key(links.schema.account_state(account))
        .own(written.epoch == 0 ? "" : std::to_string(written.epoch));
    redis::Command checked = command;
    command.arg("").own(written.before).arg(new_key);
    checked.arg("1").own(written.before).arg(new_key);

    auto epoch =
        (co_await change(links.accounts, std::move(command))).integer();
    if (epoch < 0) {
        const MarkedLimits marked =
            co_await read_limits_marker(links.accounts, links.schema);
        epoch = 0;
        if (!marked.elsewhere()) {
            epoch =
                (co_await change(links.accounts, std::move(checked))).integer();
        }
    }
    if (epoch == 0) {
        throw refused(
            Refusal::limits_elsewhere, api::ErrorCode::service_unavailable,
            "the limits are being moved to another Redis, or were moved");
    }
}

}  // namespace

Task<> announce(const StoreLinks& links, const std::string& account,
                const WrittenEpoch& written, bool of_new_key)
{
    try {
        co_await touch(links, account, written, of_new_key);
    } catch (...) {
        rethrow_not_in_effect();
    }
}

Task<> prepare_state(const StoreLinks& links, const std::string& account)
{
    return touch(links, account, no_epoch, true);
}

Failed account_not_found()
{
    return refused(Refusal::account_not_found, api::ErrorCode::not_found,
                   "there is no such account");
}

Task<std::optional<api::AccountRecord>> read_account(const StoreLinks& links,
                                                     const std::string& id)
{
    const redis::Reply& reply =
        co_await ask(links.main, AccountCommands(links.schema).read(id));
    auto found = AccountCommands::parse(reply, id);
    if (found.result == RecordFound::invalid) {
        throw damaged("the record of account " + id + " is damaged");
    }
    if (found.result == RecordFound::absent) {
        co_return std::nullopt;
    }
    co_return std::move(found.record);
}

Task<bool> write_account(const StoreLinks& links, api::AccountRecord& account,
                         std::optional<std::int64_t> seen)
{
    redis::Command write = AccountCommands(links.schema).write(account, seen);
    // A new record is in effect at once, another with its epoch.
    Call call = seen ? stage_change(links.main, std::move(write))
                     : change(links.main, std::move(write));
    const redis::Reply& reply = co_await call;
    if (reply.integer() <= 0) {
        co_return false;
    }
    account.epoch = reply.integer();
    co_return true;
}

Task<bool> add_account(const StoreLinks& links, api::AccountRecord account)
{
    co_await index_account(links, account);
    std::optional<std::int64_t> seen;
    Rounds rounds;
    for (bool written = false; !written; rounds.next()) {
        written = co_await write_account(links, account, seen);
        if (!written) {
            const auto there = co_await read_account(links, account.id);
            if (there && there->deleted == 0) {
                co_return false;
            }
            seen.reset();
            if (there) {
                seen = there->epoch;
            }
        }
    }
    co_return true;
}

Task<> settle_usage(const StoreLinks& links, const std::string& account,
                    Windows windows)
{
    redis::Command command(scripts().settle_usage, 1);
    command.key(links.schema.account_state(account))
        .arg(windows == Windows::empty ? 1 : 0);
    co_await stage_change(links.accounts, std::move(command));
}

namespace {

// Few, because the first key ends the search.
constexpr std::size_t kKeysInPiece = 8;

// Whether there is a key but `except`. One that cannot be read counts.
bool has_other(const KeyListing& keys, const std::string& except)
{
    const auto is_other = [&](const auto& id) { return id != except; };
    return std::any_of(
               keys.keys.begin(), keys.keys.end(),
               [&](const StoredKey& key) { return is_other(key.record.id); })
           || std::any_of(keys.damaged.begin(), keys.damaged.end(), is_other)
           || !keys.damaged_entries.empty() || !keys.unread.empty();
}

}  // namespace

Task<bool> has_keys(const StoreLinks& links, const std::string& account,
                    const std::string& except)
{
    bool found = false;
    const ReadPiece look = [&](api::ScanPlace from) -> Task<PieceEnd> {
        KeyPage page = co_await list_some_keys(links, account, std::move(from),
                                               kKeysInPiece);
        found = has_other(page.listing, except);
        if (found) {
            co_return PieceEnd{std::nullopt, true};
        }
        co_return PieceEnd{std::move(page.next), page.whole};
    };
    const std::string index = links.schema.account_keys(account);
    co_await read_in_pieces(links.main, index, look);
    co_return found;
}

namespace {

// Removes what refers to a deleted account, but for its usage.
Task<> clear_references(const StoreLinks& links,
                        const api::AccountRecord& account)
{
    redis::Command command("DEL");
    command.key(links.schema.account_keys(account.id));
    co_await change(links.main, std::move(command));
    co_await index_account(links, account);  // now with its deletion
    // Last: until then, a deletion by the external id can be completed by it.
    if (!account.external_id.empty()) {
        co_await release_external_id(links, account.external_id, account.id);
    }
}

// Nothing is admitted for an account without keys, so its usage is complete. A
// key that is added meanwhile changes the record first, see store_unfinished().
Task<bool> remove_without_keys(const StoreLinks& links, const std::string& id,
                               const std::string& except, bool if_implicit)
{
    for (Rounds rounds;; rounds.next()) {
        auto account = co_await read_account(links, id);
        if (!account) {
            co_return true;
        }
        if (account->deleted == 0) {
            bool in_use = if_implicit && !account->implicit;
            if (!in_use) {
                in_use = co_await has_keys(links, id, except);
            }
            if (in_use) {
                co_return false;
            }
            co_await settle_usage(links, id, Windows::keep);
            account->deleted = co_await redis_time(links.accounts);
            const bool written =
                co_await write_account(links, *account, account->epoch);
            if (!written) {
                continue;
            }
        }
        co_await announce(links, id);
        co_await clear_references(links, *account);
        co_return true;
    }
}

}  // namespace

Task<bool> remove_account(const StoreLinks& links, const std::string& id)
{
    return remove_without_keys(links, id, no_key, false);
}

Task<bool> remove_implicit_account(const StoreLinks& links,
                                   const std::string& id,
                                   const std::string& except)
{
    return remove_without_keys(links, id, except, true);
}

}  // namespace petstore::store
