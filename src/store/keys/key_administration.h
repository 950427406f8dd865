#pragma once

#include <functional>
#include <optional>
#include <string>

#include "../../api/account.h"
#include "../accounts/account_listing.h"
#include "../key_servers.h"
#include "../operations.h"
#include "../waiter.h"
#include "key_listing.h"
#include "stored_key.h"

namespace petstore::store {

// Finds, lists and changes API keys for petstorectl and the admin API. Workers
// notice a change by the account's epoch. An operation may be killed between
// any two steps; repeating it completes it. The record is authoritative: an
// index entry without a record is not a key.
//
// All functions throw std::bad_alloc, and then call no waiter. Must stay alive
// until its operations have ended.
class KeyAdministration {
public:
    // Borrows what `servers` refers to.
    explicit KeyAdministration(const KeyServers& servers) noexcept
        : servers_(servers)
    {}

    // Refuses an id that no key has.
    void find(std::string id, Waiter<StoredKey>& waiter);

    // By the digest of the key itself; nullopt if there is none.
    void find(const api::Digest& digest,
              Waiter<std::optional<StoredKey>>& waiter);

    void list(Waiter<KeyListing>& waiter);

    // At most `most` keys of an account, or with an empty id of all accounts,
    // from `from` on, by id. Fewer may be found although there are more.
    void list(std::string account, const api::ScanPlace& from, std::size_t most,
              Waiter<KeyPage>& waiter);

    // Where a new key belongs: to a new account with the id key.record.account,
    // which gets the key's plan, numbers and label, and is deleted with its
    // last key; or to an existing one. The key then has plan and numbers of its
    // own.
    using Owner = std::optional<AccountName>;  // nullopt: a new account

    // Adds a key whose secret its owner has. Repeating it with the same secret
    // completes it. The result has the key's id and account.
    void add(StoredKey key, Owner owner, Waiter<StoredKey>& waiter);

    // The same in two steps, for a secret that must be shown before it works.
    // In between, discard() undoes the first. What store() returns, or find()
    // finds unfinished, it completes; it is refused as overtaken if it is gone.
    // Without `unfinished`, another attempt of the same request has finished
    // it, and enable() announces it.
    void store(StoredKey key, Owner owner, Waiter<StoredKey>& waiter);
    void enable(StoredKey key, Waiter<StoredKey>& waiter);
    void discard(const StoredKey& key, Waiter<Done>& waiter);

    // Adds a key from a backup, with its id, account and other properties.
    // False if it exists already; it then stays as it is, but gets back entries
    // of indexes that were lost. Refuses an id that another key has. `account`
    // is written if there is no such account, and else ignored. Refuses one
    // whose external id another account has.
    void restore(StoredKey key, api::AccountRecord account,
                 Waiter<bool>& waiter);

    // Applies `change` to the record, puts it into effect and returns the
    // record. Calls `change` again if another write was faster. A failure that
    // it returns ends the operation.
    using Change = std::function<std::optional<Failure>(api::KeyRecord&)>;
    void update(std::string id, Change change, Waiter<api::KeyRecord>& waiter);

    // And its account, if that came into being with a key and this is the last.
    void remove(std::string id, Waiter<Done>& waiter);

private:
    const KeyServers servers_;
    Operations running_;
};

}  // namespace petstore::store
