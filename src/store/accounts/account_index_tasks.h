#pragma once

#include <map>
#include <string>

#include "../../api/account.h"
#include "../store_links.h"
#include "../task.h"

// The index of accounts: id → "<created>" or, once the account is deleted,
// "<created> <deleted>", in Unix seconds. An entry without a record is not an
// account.

namespace petstore::store {

// Writes the account's entry, as the record says.
Task<> index_account(const StoreLinks& links,
                     const api::AccountRecord& account);

Task<bool> is_deleted_in_index(const StoreLinks& links, const std::string& id);

// For an account whose record was not found: whether the index has it, and not
// as deleted. Redis has lost the record then, or an interrupted command has
// left the entry.
Task<bool> lacks_record(const StoreLinks& links, const std::string& id);

// Removes such an entry. False if there is none.
Task<bool> remove_entry_without_record(const StoreLinks& links,
                                       const std::string& id);

// When the account of an entry was created; 0 if the entry is damaged.
api::UnixTime created_in_index(const std::string& entry) noexcept;

// Removes the record and the entry of an account that came into being with a
// key, which was created then, and has been deleted with it. Does nothing in
// any other case. The key must never have worked, so that the account has no
// usage.
Task<> forget_unused_account(const StoreLinks& links, const std::string& id,
                             api::UnixTime created);

// Removes the entries of deleted accounts whose records have expired. Does
// nothing if Redis refuses it: lists only read, and their user may have no
// other rights.
Task<>
forget_expired_accounts(const StoreLinks& links,
                        const std::map<std::string, std::string>& entries);

}  // namespace petstore::store
