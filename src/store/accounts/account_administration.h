#pragma once

#include <functional>
#include <string>

#include "../../api/account.h"
#include "../keys/key_listing.h"
#include "../store_links.h"
#include "../task.h"
#include "account_listing.h"

// Finds, lists and changes accounts: records, bans and counters. Workers notice
// a change by the account's epoch. An operation may be interrupted between any
// two commands; repeating it completes it, because a record, its index entry,
// the claim of its external id and its state may be on different servers. The
// record is authoritative.
//
// Refusals: account_not_found, also for a deleted account; external_id_taken;
// damaged.

namespace petstore::store {

// `account` has a new id, and its time of creation. An account that has this id
// already, and is not deleted, stays as it is. Returns the stored record.
Task<api::AccountRecord> create_account(StoreLinks links,
                                        api::AccountRecord account);

// The same for an account from a backup. One that exists gets back its entry in
// the index and its external id, as its record has them. False if it exists.
Task<bool> restore_account(StoreLinks links, api::AccountRecord account);

Task<api::AccountRecord> find_account(StoreLinks links, AccountName name);

// All accounts but deleted ones.
Task<AccountListing> list_accounts(StoreLinks links);

// All keys of an account.
Task<KeyListing> list_keys_of_account(StoreLinks links, AccountName name);

// Applies `change` to the record, puts it into effect and returns the record.
// Calls `change` again if another write was faster. What it throws ends the
// operation. After an interruption, the external id that it replaces or removes
// still names the account.
using AccountChange = std::function<void(api::AccountRecord&)>;
Task<api::AccountRecord> update_account(StoreLinks links, AccountName name,
                                        AccountChange change);

// Refuses an account that has keys (account_in_use). Usage stays, and the
// record as long as it. Frees the external id. Completes a deletion that was
// interrupted, and removes an entry without a record; account_not_found if
// there is neither.
Task<> delete_account(StoreLinks links, AccountName name);

// Empties the windows of the minute, the day and the month. Usage and a ban
// stay.
Task<> reset_account(StoreLinks links, AccountName name);

// Whether the account was banned.
Task<bool> unban_account(StoreLinks links, std::string account);

}  // namespace petstore::store
