#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "../../api/account.h"
#include "../accounts/account_listing.h"
#include "../store_links.h"
#include "../task.h"
#include "key_commands.h"
#include "key_listing.h"

// Finds, lists and changes API keys for petstorectl and the admin API. Workers
// notice a change by the account's epoch. An operation may be killed between
// any two steps; repeating it completes it. The record is authoritative: an
// index entry without a record is not a key.

namespace petstore::store {

// Refuses an id that no key has. A damaged record is refused.
Task<StoredKey> find_key(StoreLinks links, std::string id);

// nullopt if there is no such key. The digest is that of the key itself.
Task<std::optional<StoredKey>> find_optional(StoreLinks links, std::string id);
Task<std::optional<StoredKey>> find_optional(StoreLinks links,
                                             api::Digest digest);

Task<KeyListing> list_keys(StoreLinks links);
Task<KeyListing> list_keys_of(StoreLinks links, std::string account);

// At most `most` keys of an account, or with an empty id of all accounts, from
// `from` on, by id. Fewer may be found although there are more.
Task<KeyPage> list_some_keys(StoreLinks links, std::string account,
                             api::ScanPlace from, std::size_t most);

// Where the secret of a new key is from. An imported one may have been here
// before, and the key be cached, if its record was lost rather than deleted.
enum class SecretOrigin { generated, imported };

// Adds a key whose secret its owner has. Repeating it with the same secret
// completes it. The result has the key's id and account. `owner`: an existing
// account, in which the key has plan and numbers of its own; nullopt: a new
// account with the id key.record.account, which gets the key's plan, numbers
// and label, and is deleted with its last key.
Task<StoredKey> add_key(StoreLinks links, StoredKey key,
                        std::optional<AccountName> owner);

// The same in two steps, for a secret that must be shown before it works. In
// between, discard_key() undoes the first. store_key() takes a key that it has
// returned before, or that find_optional() has found unfinished, and completes
// what it lacks; if the key is gone, that is refused as overtaken. If the key
// that it returns is not `unfinished`, another attempt of the same request has
// finished it, and enable_key() only completes what may be left.
Task<StoredKey> store_key(StoreLinks links, StoredKey key,
                          std::optional<AccountName> owner);
Task<StoredKey> enable_key(StoreLinks links, StoredKey key,
                           SecretOrigin origin);
Task<> discard_key(StoreLinks links, StoredKey key);

// Adds a key from a backup, with its id, account and other properties. False if
// it exists already; it then stays as it is, but gets back entries of indexes
// that were lost. Refuses an id that another key has. `account` is written if
// there is no such account, and else ignored; if the key is refused, one
// that is `implicit` only if it has the key that stands in the way. Refuses one
// whose external id another account has.
Task<bool> restore_key(StoreLinks links, StoredKey key,
                       api::AccountRecord account);

// Applies `change` to the record, puts it into effect and returns the record.
// Calls `change` again if another write was faster. What it throws ends the
// operation.
using KeyChange = std::function<void(api::KeyRecord&)>;
Task<api::KeyRecord> update_key(StoreLinks links, std::string id,
                                KeyChange change);

// And its account, if that came into being with a key and this is the last.
Task<> remove_key(StoreLinks links, std::string id);

}  // namespace petstore::store
