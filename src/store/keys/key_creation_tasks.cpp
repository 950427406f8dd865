#include <tuple>
#include <utility>

#include "../../api/text.h"
#include "../accounts/account_administration.h"
#include "../accounts/account_index_tasks.h"
#include "key_tasks.h"

// How new keys are stored, by attempts that may be interrupted or overtaken.

namespace petstore::store {

namespace {

// The account of a key that is created without one, and takes its plan.
api::AccountRecord take_account(api::KeyRecord& key)
{
    api::AccountRecord account;
    account.own_plan() = std::exchange(key.own_plan(), {});
    account.id = key.account;
    account.label = key.label;
    account.created = key.created;
    account.implicit = true;
    return account;
}

// Completes what must be true before the key may work: its account exists.
// The write makes a deletion of the account look for keys again, which then
// finds this one.
Task<> join_account(const StoreLinks& links, const std::string& id,
                    bool stays_implicit)
{
    Rounds rounds;
    for (bool written = false; !written; rounds.next()) {
        auto account = co_await read_account(links, id);
        if (!account || account->deleted != 0) {
            throw account_not_found();
        }
        account->implicit &= stays_implicit;
        written = co_await write_account(links, *account, account->epoch);
    }
}

// Whether two attempts have made the same key.
bool is_same(const api::KeyRecord& a, const api::KeyRecord& b)
{
    const auto all = [](const api::KeyRecord& key) {
        return std::tie(key.id, key.account, key.plan, key.per_minute,
                        key.per_day, key.per_month, key.label, key.scopes,
                        key.further_scopes, key.created, key.expires, key.last4,
                        key.replaced_by);
    };
    return all(a) == all(b);
}

Failed others_add_key()
{
    return key_exists("another command is adding this key");
}

// Another attempt with the same secret, whose record `key` has replaced, has
// left entries of another id. Its account, if it came into being with a key,
// stays in the usage: a key that is restored may have worked before.
Task<> remove_left(const StoreLinks& links, const StoredKey& left,
                   const StoredKey& key)
{
    if (left.record.account != key.record.account) {
        co_await remove_unused(links, left.record.account, no_key);
    }
    co_await remove_entries(links, left);
}

// Writes the record of a new key. False if another attempt of the same request
// has finished the key, which `key` then is.
Task<bool> write_unfinished(const StoreLinks& links, StoredKey& key,
                            KeyOwner owner, Storing storing)
{
    for (Rounds rounds;; rounds.next()) {
        StoredKey there(key.digest);
        const RecordFound found = co_await read_record(links, there);
        if (found == RecordFound::invalid) {
            throw damaged("this key exists already, and its record is damaged");
        }
        const bool is_own =
            found == RecordFound::found && there.record.id == key.record.id;
        if (storing == Storing::repeated && !is_own) {
            throw overtaken("the new key was removed meanwhile");
        }
        std::optional<std::int64_t> seen;
        if (found == RecordFound::found) {
            if (!there.unfinished) {
                if (!is_own) {
                    throw key_exists("this key exists already, its id is "
                                     + there.record.id);
                }
                key = std::move(there);
                co_return false;
            }
            if (is_own) {  // account and times of the first attempt count
                if (owner == KeyOwner::new_account) {
                    key.record.account = there.record.account;
                }
                key.record.created = there.record.created;
                key.record.expires = there.record.expires;
            }
            seen = there.record.epoch;
        }
        co_await prepare_state(links, key.record.account);
        if (owner == KeyOwner::new_account) {
            co_await add_account(links, take_account(key.record));
        }
        key.unfinished = true;
        const bool written = co_await write(links, key, seen);
        if (written) {
            if (seen && !is_own) {
                co_await remove_left(links, there, key);
            }
            co_return true;
        }
        const RecordFound now = co_await read_record(links, there);
        if (now != RecordFound::found) {
            throw overtaken("the new key was removed meanwhile");
        }
        if (there.record.id != key.record.id) {
            const bool is_mine = key.record.account != there.record.account;
            if (owner == KeyOwner::new_account && is_mine) {
                co_await remove_unused(links, key.record.account, no_key);
                co_await forget_unused_account(links, key.record.account,
                                               key.record.created);
            }
            throw others_add_key();
        }
    }
}

}  // namespace

Task<> index_key(const StoreLinks& links, const StoredKey& key)
{
    co_await change_entry(links, "HSET", links.schema.key_index(),
                          key.record.id,
                          api::to_hex(api::bytes_of(key.digest)));
}

Task<> remove_entries(const StoreLinks& links, const StoredKey& key)
{
    std::optional<bool> listed;
    for (Rounds rounds;; rounds.next()) {
        StoredKey there(key.digest);
        const RecordFound found = co_await read_record(links, there);
        const bool exists =
            found == RecordFound::invalid || there.record.id == key.record.id;
        if (exists == listed) {
            co_return;
        }
        const std::string& id = key.record.id;
        const std::string of_account =
            links.schema.account_keys(key.record.account);
        if (exists) {
            co_await index_key(links, key);
            co_await change_entry(links, "SADD", of_account, id, "");
        } else {
            co_await change_entry(links, "HDEL", links.schema.key_index(), id,
                                  "");
            co_await change_entry(links, "SREM", of_account, id, "");
        }
        listed = exists;
    }
}

Task<> store_unfinished(const StoreLinks& links, StoredKey& key, KeyOwner owner,
                        Storing storing)
{
    // Before the indexes: if interrupted, the record expires after a day.
    const bool written = co_await write_unfinished(links, key, owner, storing);
    if (!written) {
        co_return;
    }
    const std::string account = key.record.account;
    co_await index_key(links, key);
    co_await change_entry(links, "SADD", links.schema.account_keys(account),
                          key.record.id, "");
    std::optional<Failed> gone;
    try {
        co_await join_account(links, account, owner != KeyOwner::existing);
    } catch (Failed& failed) {
        if (failed.failure.refusal != Refusal::account_not_found) {
            throw;
        }
        gone = std::move(failed);
    }
    if (gone) {
        co_await discard(links, key.record.id, key.digest);
        co_await remove_entries(links, key);
        StoredKey there(key.digest);
        const RecordFound found = co_await read_record(links, there);
        if (found != RecordFound::absent && there.record.id != key.record.id) {
            // Another command has removed this one's account.
            if (owner == KeyOwner::new_account) {
                co_await forget_unused_account(links, account,
                                               key.record.created);
            }
            throw others_add_key();
        }
        throw std::move(*gone);
    }
}

Task<> add_to_account(const StoreLinks& links, const StoredKey& key)
{
    // A deleted account gets no entry.
    const AccountName name{key.record.account, {}};
    co_await find_account(links, name);
    redis::Command command("SADD");
    command.key(links.schema.account_keys(name.id)).own(key.record.id);
    const redis::Reply& reply = co_await change(links.main, std::move(command));
    const bool is_new = reply.integer() == 1;
    if (is_new || key.unfinished) {
        co_await join_account(links, name.id, true);
    }
}

Task<std::optional<WrittenEpoch>> finish(const StoreLinks& links,
                                         StoredKey& key)
{
    key.unfinished = false;
    for (Rounds rounds;; rounds.next()) {
        std::string before = co_await epoch_before(links, key.record.account);
        const bool written = co_await write(links, key, key.record.epoch);
        if (written) {
            WrittenEpoch epoch{key.record.epoch, std::move(before)};
            co_return epoch;
        }
        StoredKey there(key.digest);
        const RecordFound found = co_await read_record(links, there);
        if (found != RecordFound::found || !is_same(there.record, key.record)) {
            co_return std::nullopt;
        }
        key.record.epoch = there.record.epoch;
        if (!there.unfinished) {
            co_return there.record.disabled == key.record.disabled
                ? std::optional(no_epoch)
                : std::nullopt;
        }
    }
}

}  // namespace petstore::store
