#pragma once

#include <functional>
#include <optional>
#include <string>

#include "../../api/account.h"
#include "../../api/date.h"
#include "../key_servers.h"
#include "../keys/key_listing.h"
#include "../operations.h"
#include "../waiter.h"
#include "account_listing.h"

namespace petstore::store {

// Finds, lists and changes accounts: records, bans and counters. Workers notice
// a change by the account's epoch. An operation may be interrupted between any
// two commands; repeating it completes it, because a record, its index entry,
// the claim of its external id and its state may be on different servers. The
// record is authoritative.
//
// All functions throw std::bad_alloc, and then call no waiter. Refusals:
// account_not_found, also for a deleted account; external_id_taken; damaged.
// Must stay alive until its operations have ended.
class AccountAdministration {
public:
    // Borrows what `servers` refers to.
    explicit AccountAdministration(const KeyServers& servers) noexcept
        : servers_(servers)
    {}

    // `account` has a new id, and its time of creation.
    void create(api::AccountRecord account, Waiter<api::AccountRecord>& waiter);

    void find(AccountName name, Waiter<api::AccountRecord>& waiter);

    // All accounts, deleted ones only if asked for.
    void list(bool with_deleted, Waiter<AccountListing>& waiter);

    // All keys of an account.
    void keys_of(AccountName name, Waiter<KeyListing>& waiter);

    // Applies `change` to the record, puts it into effect and returns the
    // record. Calls `change` again if another write was faster. A failure that
    // it returns ends the operation.
    using Change = std::function<std::optional<Failure>(api::AccountRecord&)>;
    void update(AccountName name, Change change,
                Waiter<api::AccountRecord>& waiter);

    // Refuses an account that has keys (account_in_use). Usage stays, and the
    // record as long as it. Frees the external id.
    void remove(AccountName name, Waiter<Done>& waiter);

    // Empties the windows of the minute, the day and the month. Usage and a ban
    // stay.
    void reset(AccountName name, Waiter<Done>& waiter);

    // Whether the account was banned.
    void unban(std::string account, Waiter<bool>& waiter);

    void now(Waiter<api::UnixTime>& waiter);  // by Redis's clock

private:
    const KeyServers servers_;
    Operations running_;
};

}  // namespace petstore::store
