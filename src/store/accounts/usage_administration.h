#pragma once

#include <string>
#include <vector>

#include "../../api/usage.h"
#include "../scan_tasks.h"
#include "../store_links.h"
#include "../task.h"

// What accounts have used. Periods must be kept_at(today).

namespace petstore::store {

struct UsageListing {
    std::vector<api::AccountUsage> accounts;  // in the order asked for
    std::vector<std::string> damaged;         // what is wrong with others
};

// One account, which may have been deleted. Refuses an unknown id.
Task<api::AccountUsage> read_usage(StoreLinks links, std::string account,
                                   api::UsagePeriod period);

// Several. Skips ids that no account has, or can have; one that only the index
// has counts as damaged.
Task<UsageListing> list_usage(StoreLinks links,
                              std::vector<std::string> accounts,
                              api::UsagePeriod period);

// The ids of all accounts, deleted ones included, oldest first.
Task<std::vector<std::string>> list_account_ids(StoreLinks links);

// Their entries in the index, in pieces of at most `most`, in no order. A
// damaged entry's name may not be an id.
Task<IndexPage> read_account_index(StoreLinks links, api::ScanPlace from,
                                   std::size_t most);

// Reads the account's state, and its ledgers of the months from that of `from`
// to that of `to`, into `usage`, which has the account's id. Damage is refused,
// with the Redis key.
Task<> read_counts(const StoreLinks& links, api::Day from, api::Day to,
                   api::AccountUsage& usage);

// The same for usage.last_used alone, if the state does not tell it: the
// account is new, banned, or was not used for more than a year. Reads all
// ledgers.
Task<> find_last_use(const StoreLinks& links, api::AccountUsage& usage);

}  // namespace petstore::store
