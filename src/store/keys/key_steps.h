#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "../accounts/account_administration.h"
#include "stored_key.h"

namespace petstore::store {

// The Redis servers of a store: that of its keys, and that of its accounts,
// which may be another one.
struct KeyServers {
    redis::Link& keys;
    redis::Link& accounts;
    const Schema& schema;
};

// What operations do with keys. Arguments by reference belong to the operation.
//
// A change is one write of the record, then a new epoch of the account, which
// makes the workers read the record again. A key's record, its index entry and
// its account may be on different servers, so no step covers two of them.
class KeySteps : public AccountSteps {
protected:
    explicit KeySteps(const KeyServers& servers) noexcept
        : AccountSteps(servers.accounts, servers.schema), keys_(servers.keys),
          commands_(servers.schema)
    {}

    using Then = std::function<void()>;
    using Found = KeyCommands::Found::Result;

    // The digest of the key that has this id, according to the index; nullopt
    // if it has no entry.
    void
    read_index(const std::string& id,
               std::function<void(const std::optional<api::Digest>&)> next);

    void read_record(const api::Digest& digest,
                     std::function<void(Found, StoredKey)> next);

    // nullopt if there is no such key. A damaged record is refused.
    using ThenOptional = std::function<void(std::optional<StoredKey>)>;
    void find_optional(const std::string& id, ThenOptional next);
    void find_optional(const api::Digest& digest, ThenOptional next);

    // Refuses an id that no key has.
    void find_or_refuse(const std::string& id,
                        std::function<void(StoredKey)> next);
    void refuse_unknown();

    // Writes the record and sets its epoch, unless the record has changed since
    // it was read, or exists, without `seen`. Takes effect with announce().
    void write(StoredKey& key, std::optional<std::int64_t> seen,
               std::function<void(bool written)> next);
    void write(StoredKey& key, std::function<void(bool written)> next)
    {
        write(key, key.record.epoch, std::move(next));
    }

    // Makes all workers read the account's records again. `written` is the
    // epoch of the changed record, 0 if none.
    void announce(const std::string& account, std::int64_t written,
                  const Then& next)
    {
        touch(account, written, NotInEffectAfter::any_failure, next);
    }

    // Stores a new key, still disabled, and adds it to the index. If an earlier
    // attempt with the same secret was interrupted, `key` gets its id and
    // account. Refuses a key that exists.
    void store(StoredKey& key, Then next);

    // Enables a key that was stored so. False if the key was changed or
    // removed. Workers accept it without announce(), because none can have
    // cached its record. After announce(), each reads the record only once.
    void enable(StoredKey& key, std::function<void(bool enabled)> next);

    // Removes a key. Disables it everywhere before deleting its record: only
    // the record names the account to touch, and workers may have it cached.
    void discard(const std::string& id, const api::Digest& digest, Then next);

    redis::Link& keys_;

private:
    void remove_record(const std::string& id, const api::Digest& digest,
                       const Then& next);

    const StoredKeyCommands commands_;
    StoredKey doomed_;
};

}  // namespace petstore::store
