#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../accounts/account_tasks.h"
#include "key_listing.h"
#include "stored_key.h"

// What operations do with keys.
//
// A change is one write of the record, then a new epoch of the account, which
// makes the workers read the record again. A key's record, its index entry and
// its account may be on different servers, so no command covers two of them.

namespace petstore::store {

// The digest of the key that has this id, according to the index; nullopt if it
// has no entry.
Task<std::optional<api::Digest>> read_index(const KeyServers& servers,
                                            const std::string& id);

// Reads the record of key.digest into `key`.
Task<KeyCommands::Found::Result> read_record(const KeyServers& servers,
                                             StoredKey& key);

// nullopt if there is no such key. A damaged record is refused.
Task<std::optional<StoredKey>> find_optional(const KeyServers& servers,
                                             const std::string& id);
Task<std::optional<StoredKey>> find_optional(const KeyServers& servers,
                                             const api::Digest& digest);

// Refuses an id that no key has.
Task<StoredKey> find_or_refuse(const KeyServers& servers,
                               const std::string& id);
Failed unknown_key();
Failed key_exists(std::string message);
Failed overtaken(std::string message);

// Writes the record and sets its epoch, unless the record has changed since it
// was read as `seen`, or exists, without `seen`: then returns false. Takes
// effect with announce().
Task<bool> write(const KeyServers& servers, StoredKey& key,
                 std::optional<std::int64_t> seen);

// Writes a record that was read, and announces it. False if it has changed.
Task<bool> write_and_announce(const KeyServers& servers, StoredKey& key);

// Stores a new key, still disabled, and adds it to the index. If an earlier
// attempt with the same secret was interrupted, `key` gets its id and account.
// Refuses a key that exists.
Task<> store_disabled(const KeyServers& servers, StoredKey& key);

// Enables a key that was stored so. False if the key was changed or removed.
// Workers accept it without announce(), because none can have cached its
// record. After announce(), each reads the record only once.
Task<bool> enable(const KeyServers& servers, StoredKey& key);

// Removes a key. Disables it everywhere before deleting its record: only the
// record names the account to touch, and workers may have it cached.
Task<> discard(const KeyServers& servers, const std::string& id,
               const api::Digest& digest);

Task<KeyListing> list_keys(KeyServers servers);

}  // namespace petstore::store
