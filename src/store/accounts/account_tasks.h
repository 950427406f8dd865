#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "../../api/account.h"
#include "../../api/date.h"
#include "../../api/limit.h"
#include "../store_links.h"
#include "../task.h"
#include "account_listing.h"
#include "marked_limits.h"

// What operations do with the states of accounts.

namespace petstore::store {

// By the clock of this Redis; fails unless it replies with its time. That of
// the accounts decides when a key expires.
Task<api::UnixTime> redis_time(redis::Link& link);

// Valid until the next co_await, as a reply.
Task<MarkedLimits> read_limits_marker(redis::Link& link, const Schema& schema);

// The epoch of a key's record that was just written, which its account may
// take; see touch_account.lua.
struct WrittenEpoch {
    std::int64_t epoch = 0;  // 0: none
    std::string before;      // epoch_before() the record was written
};
// As a default argument: GCC 12 destroys temporaries of a co_await twice.
inline const WrittenEpoch no_epoch;

// The epoch of the account's state, in eight bytes; empty if nothing needs it.
Task<std::string> epoch_before(const StoreLinks& links,
                               const std::string& account);

// Makes all workers read the account's key records again, for a change that is
// stored, but not in effect if this fails. A key that was never used before is
// valid without this. But unless requests of its account would have to wait for
// that, workers that read its record then need to read it only once.
Task<> announce(const StoreLinks& links, const std::string& account,
                const WrittenEpoch& written = no_epoch,
                bool of_new_key = false);

// Before the record of a new key is written: gives the account a state, which
// can take the record's epoch.
Task<> prepare_state(const StoreLinks& links, const std::string& account);

// The account's record, also a deleted one's; nullopt if there is none. A
// damaged one is refused.
Task<std::optional<api::AccountRecord>> read_account(const StoreLinks& links,
                                                     const std::string& id);

// Writes the record and sets its epoch, unless the record has changed since it
// was read as `seen`, or exists, without `seen`: then returns false.
Task<bool> write_account(const StoreLinks& links, api::AccountRecord& account,
                         std::optional<std::int64_t> seen);

// Adds an account to the index, and writes its record unless there is one that
// is not deleted. The index first, so that no account is invisible. False if
// there is one.
Task<bool> add_account(const StoreLinks& links, api::AccountRecord account);

enum class Windows { keep, empty };

// Moves the running day into the usage and, to reset the account, empties its
// windows. Takes effect with announce().
Task<> settle_usage(const StoreLinks& links, const std::string& account,
                    Windows windows);

// Deletes an account. False if it has keys; it then stays as it is.
Task<bool> remove_account(const StoreLinks& links, const std::string& id);

inline const std::string no_key;  // a default argument; see no_epoch

// Whether the account has a key other than `except`. A key that cannot be read
// counts as one.
Task<bool> has_keys(const StoreLinks& links, const std::string& account,
                    const std::string& except = no_key);

// Like remove_account(), but only if it came into being with a key. The key
// `except` does not count.
Task<bool> remove_implicit_account(const StoreLinks& links,
                                   const std::string& id,
                                   const std::string& except = no_key);

// At most `most` accounts, deleted ones included, from `from` on, in no order.
Task<AccountPage> list_some_accounts(const StoreLinks& links,
                                     api::ScanPlace from, std::size_t most);

Failed account_not_found();

redis::Command get_command(const std::string& key);

}  // namespace petstore::store
