#include "key_administration.h"

#include <utility>

#include "../accounts/account_administration.h"
#include "../accounts/account_index_tasks.h"
#include "key_tasks.h"

namespace petstore::store {

namespace {

Task<StoredKey> finish_key(StoreLinks links, StoredKey key, SecretOrigin origin,
                           const char* if_overtaken)
{
    std::optional<WrittenEpoch> finished(std::in_place);
    if (key.unfinished) {
        finished = co_await finish(links, key);
    }
    if (!finished) {
        const auto there = co_await find_optional(links, key.digest);
        if (!there || there->record.id != key.record.id) {
            co_await remove_entries(links, key);
        }
        if (!there) {
            throw refused(Refusal::overtaken, api::ErrorCode::not_found,
                          "another command has deleted the new key");
        }
        throw overtaken(if_overtaken);
    }
    co_await announce(links, key.record.account, *finished,
                      origin == SecretOrigin::generated);
    co_return key;
}

constexpr char kOthersAdd[] = "another command is adding this key";

// What the indexes may lack of a key whose record exists.
Task<> restore_entries(StoreLinks links, StoredKey key, bool is_indexed)
{
    if (!is_indexed) {
        co_await index_key(links, key);
    }
    co_await add_to_account(links, key);
}

Task<> restore_and_announce(StoreLinks links, api::AccountRecord account)
{
    const std::string id = account.id;
    const bool restored = co_await restore_account(links, std::move(account));
    if (restored) {
        co_await announce(links, id);
    }
}

Task<> list_again(StoreLinks links, StoredKey key)
{
    try {
        co_await add_to_account(links, key);
    } catch (const Failed& failed) {
        if (failed.failure.refusal != Refusal::account_not_found) {
            throw;
        }
        throw refused(Refusal::not_found, api::ErrorCode::not_found,
                      "the account of key " + key.record.id
                          + " is deleted: delete the key, too");
    }
}

}  // namespace

Task<std::optional<StoredKey>> find_optional(StoreLinks links, std::string id)
{
    const auto digest = co_await read_index(links, id);
    if (!digest) {
        co_return std::nullopt;
    }
    StoredKey key(*digest);
    const RecordFound found = co_await read_record(links, key);
    if (found == RecordFound::invalid) {
        throw damaged("the record of key " + id + " is damaged");
    }
    // An interrupted import can leave an index entry that leads to another id.
    if (found == RecordFound::absent || key.record.id != id) {
        co_return std::nullopt;
    }
    co_return key;
}

Task<std::optional<StoredKey>> find_optional(StoreLinks links,
                                             api::Digest digest)
{
    StoredKey key(digest);
    const RecordFound found = co_await read_record(links, key);
    if (found == RecordFound::invalid) {
        throw damaged("the record of this key is damaged");
    }
    if (found == RecordFound::absent) {
        co_return std::nullopt;
    }
    co_return key;
}

Task<StoredKey> find_key(StoreLinks links, std::string id)
{
    auto key = co_await find_optional(links, id);
    if (!key) {
        throw unknown_key();
    }
    co_return std::move(*key);
}

Task<StoredKey> store_key(StoreLinks links, StoredKey key,
                          std::optional<AccountName> owner)
{
    auto of = KeyOwner::new_account;
    if (owner) {
        const auto account = co_await find_account(links, *owner);
        key.record.account = account.id;
        of = KeyOwner::existing;
    }
    const auto storing = key.unfinished ? Storing::repeated : Storing::first;
    co_await store_unfinished(links, key, of, storing);
    co_return key;
}

Task<StoredKey> enable_key(StoreLinks links, StoredKey key, SecretOrigin origin)
{
    return finish_key(links, std::move(key), origin,
                      "another command has changed the new key");
}

Task<StoredKey> add_key(StoreLinks links, StoredKey key,
                        std::optional<AccountName> owner)
{
    const StoredKey stored = co_await store_key(links, key, owner);
    co_return co_await finish_key(links, stored, SecretOrigin::imported,
                                  kOthersAdd);
}

Task<> discard_key(StoreLinks links, StoredKey key)
{
    // What another command has removed may have worked before.
    const bool never_worked = co_await discard_unfinished(links, key);
    if (never_worked) {
        co_await forget_unused_account(links, key.record.account,
                                       key.record.created);
    }
}

Task<bool> restore_key(StoreLinks links, StoredKey key,
                       api::AccountRecord account)
{
    const api::KeyRecord wanted = key.record;
    // Even if the key is refused, as a damaged one is: the account may have no
    // other one, or only those that Redis still has.
    if (!account.implicit) {
        co_await restore_and_announce(links, account);
    }
    const auto other = co_await read_index(links, wanted.id);
    const bool other_key = other && *other != key.digest;
    const auto there = co_await find_optional(links, key.digest);
    const bool other_id = there && there->record.id != wanted.id;
    // It lives with its keys, so it comes with a refused one only if the key in
    // the way is one of the account.
    bool comes_with_key = account.implicit;
    if (account.implicit && (other_key || other_id)) {
        auto in_the_way = there;
        if (other_key) {
            in_the_way = co_await find_optional(links, wanted.id);
        }
        comes_with_key = in_the_way && in_the_way->record.account == account.id;
    }
    if (comes_with_key) {
        co_await restore_and_announce(links, account);
    }
    if (other_key) {
        throw key_exists("another key has the id " + wanted.id);
    }
    if (other_id) {
        throw key_exists("this key exists already, its id is "
                         + there->record.id);
    }
    if (there && !there->unfinished) {
        co_await restore_entries(links, *there, other.has_value());
        co_return false;
    }
    co_await store_unfinished(links, key, KeyOwner::unchanged, Storing::first);
    co_await finish_key(links, key, SecretOrigin::imported, kOthersAdd);
    co_return true;
}

Task<api::KeyRecord> update_key(StoreLinks links, std::string id,
                                KeyChange change)
{
    std::optional<StoredKey> listed;
    for (Rounds rounds;; rounds.next()) {
        auto found = co_await find_optional(links, id);
        if (!found) {
            if (listed) {
                co_await remove_entries(links, *listed);
            }
            throw unknown_key();
        }
        StoredKey key = std::move(*found);
        change(key.record);
        const bool ends_deletion = !key.record.disabled && forget_deletion(key);
        if (ends_deletion || key.unfinished) {
            // Its deletion or creation was interrupted. The operator manages it
            // from now on, so it must not work without being listed.
            co_await list_again(links, key);
            listed = key;
            key.unfinished = false;
        }
        const bool written = co_await write_and_announce(links, key);
        if (written) {
            co_return std::move(key.record);
        }
    }
}

// Completes a removal even where it finds nothing to do, so after any lost
// reply it may not be in effect.
Task<> remove_key(StoreLinks links, std::string id)
{
    const auto digest = co_await read_index(links, id);
    if (!digest) {
        throw unknown_key();
    }
    try {
        co_await discard(links, id, *digest);
    } catch (Failed& failed) {
        failed.failure.not_in_effect |= failed.no_reply;
        throw;
    }
}

}  // namespace petstore::store
