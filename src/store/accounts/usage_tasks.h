#pragma once

#include "../../api/usage.h"
#include "../key_servers.h"
#include "../task.h"

namespace petstore::store {

// Reads the account's state, and its ledgers of the months from that of `from`
// to that of `to`, into `usage`, which has the account's id. Damage is refused,
// with the Redis key.
Task<> read_counts(const KeyServers& servers, api::Day from, api::Day to,
                   api::AccountUsage& usage);

// The same for usage.month alone, after read_counts() without the ledger of
// this month, with which the month begins.
Task<> find_month(const KeyServers& servers, api::Day from, api::Day to,
                  api::AccountUsage& usage);

// The same for usage.last_used alone, if the state does not tell it: the
// account is new, banned, or was not used for more than a year. Reads all
// ledgers.
Task<> find_last_use(const KeyServers& servers, api::AccountUsage& usage);

}  // namespace petstore::store
