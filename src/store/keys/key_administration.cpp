#include "key_administration.h"

#include <utility>

#include "../accounts/account_administration.h"
#include "../accounts/account_index_tasks.h"
#include "key_tasks.h"

namespace petstore::store {

namespace {

Task<StoredKey> find_key(KeyServers servers, std::string id)
{
    co_return co_await find_or_refuse(servers, id);
}

Task<std::optional<StoredKey>> find_key(KeyServers servers, api::Digest digest)
{
    co_return co_await find_optional(servers, digest);
}

Task<StoredKey> store_key(KeyServers servers, StoredKey key,
                          KeyAdministration::Owner owner)
{
    auto of = KeyOwner::new_account;
    if (owner) {
        const auto account = co_await find_account(servers, *owner);
        key.record.account = account.id;
        of = KeyOwner::existing;
    }
    const bool again = key.unfinished;
    co_await store_unfinished(servers, key, of, again);
    co_return key;
}

Task<StoredKey> finish_key(KeyServers servers, StoredKey key,
                           const char* if_overtaken)
{
    std::optional<WrittenEpoch> finished(std::in_place);
    if (key.unfinished) {
        finished = co_await finish(servers, key);
    }
    if (!finished) {
        const auto there = co_await find_optional(servers, key.digest);
        if (!there) {
            throw refused(Refusal::overtaken, api::ErrorCode::not_found,
                          "another command has deleted the new key");
        }
        throw overtaken(if_overtaken);
    }
    co_await announce(servers, key.record.account, *finished);
    co_return key;
}

constexpr char kOthersAdd[] = "another command is adding this key";

Task<StoredKey> add_key(KeyServers servers, StoredKey key,
                        KeyAdministration::Owner owner)
{
    const StoredKey stored = co_await store_key(servers, key, owner);
    co_return co_await finish_key(servers, stored, kOthersAdd);
}

Task<> discard_key(KeyServers servers, StoredKey key)
{
    // What another command has removed may have worked before.
    const bool never_worked = co_await discard_unfinished(servers, key);
    if (never_worked) {
        co_await forget_unused_account(servers, key.record.account);
    }
}

// One that exists stays as it is, but gets back its entry in the index and its
// external id. False if it exists.
Task<bool> restore_account(KeyServers servers, api::AccountRecord account)
{
    auto there = co_await read_account(servers, account.id);
    const bool exists = there && there->deleted == 0;
    if (exists) {
        account = std::move(*there);
    }
    co_await create_account(servers, account);
    co_return !exists;
}

// What the indexes may lack of a key whose record exists.
Task<> restore_entries(KeyServers servers, StoredKey key, bool is_indexed)
{
    if (!is_indexed) {
        co_await index_key(servers, key);
    }
    co_await add_to_account(servers, key);
}

Task<bool> restore_key(KeyServers servers, StoredKey key,
                       api::AccountRecord account)
{
    const api::KeyRecord wanted = key.record;
    const auto other = co_await read_index(servers, wanted.id);
    if (other && *other != key.digest) {
        throw key_exists("another key has the id " + wanted.id);
    }
    const auto there = co_await find_optional(servers, key.digest);
    if (there && there->record.id != wanted.id) {
        throw key_exists("this key exists already, its id is "
                         + there->record.id);
    }
    const bool exists = there && !there->unfinished;
    bool account_restored = false;
    if (!exists || there->record.account == account.id) {
        account_restored = co_await restore_account(servers, account);
    }
    if (exists) {
        co_await restore_entries(servers, *there, other.has_value());
        if (account_restored) {
            co_await announce(servers, account.id);
        }
        co_return false;
    }
    co_await store_unfinished(servers, key, KeyOwner::unchanged, false);
    co_await finish_key(servers, key, kOthersAdd);
    co_return true;
}

Task<api::KeyRecord> update_key(KeyServers servers, std::string id,
                                KeyAdministration::Change change)
{
    for (;;) {
        StoredKey key = co_await find_or_refuse(servers, id);
        if (auto failure = change(key.record)) {
            throw invalid(std::move(*failure));
        }
        if (key.unfinished) {
            // Its creation was interrupted. The operator manages it from now
            // on, so it must not work without being listed.
            co_await add_to_account(servers, key);
            key.unfinished = false;
        }
        const bool written = co_await write_and_announce(servers, key);
        if (written) {
            co_return std::move(key.record);
        }
    }
}

// Completes a removal even where it finds nothing to do, so after any lost
// reply it may not be in effect.
Task<> remove_key(KeyServers servers, std::string id)
{
    const auto digest = co_await read_index(servers, id);
    if (!digest) {
        throw unknown_key();
    }
    try {
        co_await discard(servers, id, *digest);
    } catch (Failed& failed) {
        failed.failure.not_in_effect |= failed.no_reply;
        throw;
    }
}

}  // namespace

void KeyAdministration::find(std::string id, Waiter<StoredKey>& waiter)
{
    run(running_, find_key(servers_, std::move(id)), waiter);
}

void KeyAdministration::find(const api::Digest& digest,
                             Waiter<std::optional<StoredKey>>& waiter)
{
    run(running_, find_key(servers_, digest), waiter);
}

void KeyAdministration::list(Waiter<KeyListing>& waiter)
{
    run(running_, list_keys(servers_), waiter);
}

void KeyAdministration::list(std::string account, const api::ScanPlace& from,
                             std::size_t most, Waiter<KeyPage>& waiter)
{
    run(running_, list_some_keys(servers_, std::move(account), from, most),
        waiter);
}

void KeyAdministration::add(StoredKey key, Owner owner,
                            Waiter<StoredKey>& waiter)
{
    run(running_, add_key(servers_, std::move(key), std::move(owner)), waiter);
}

void KeyAdministration::store(StoredKey key, Owner owner,
                              Waiter<StoredKey>& waiter)
{
    run(running_, store_key(servers_, std::move(key), std::move(owner)),
        waiter);
}

void KeyAdministration::enable(StoredKey key, Waiter<StoredKey>& waiter)
{
    run(running_,
        finish_key(servers_, std::move(key),
                   "another command has changed the new key"),
        waiter);
}

void KeyAdministration::discard(const StoredKey& key, Waiter<Done>& waiter)
{
    run(running_, discard_key(servers_, key), waiter);
}

void KeyAdministration::restore(StoredKey key, api::AccountRecord account,
                                Waiter<bool>& waiter)
{
    run(running_, restore_key(servers_, std::move(key), std::move(account)),
        waiter);
}

void KeyAdministration::update(std::string id, Change change,
                               Waiter<api::KeyRecord>& waiter)
{
    run(running_, update_key(servers_, std::move(id), std::move(change)),
        waiter);
}

void KeyAdministration::remove(std::string id, Waiter<Done>& waiter)
{
    run(running_, remove_key(servers_, std::move(id)), waiter);
}

}  // namespace petstore::store
