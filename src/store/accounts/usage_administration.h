#pragma once

#include <string>
#include <vector>

#include "../../api/usage.h"
#include "../index_page.h"
#include "../key_servers.h"
#include "../task.h"

// What accounts have used. Periods must be kept_at(today).

namespace petstore::store {

struct UsageListing {
    std::vector<api::AccountUsage> accounts;  // in the order asked for
    std::vector<std::string> damaged;         // what is wrong with others
};

// One account, which may have been deleted. Refuses an unknown id.
Task<api::AccountUsage> read_usage(KeyServers servers, std::string account,
                                   api::UsagePeriod period);

// Several. Skips ids that no account has, or can have.
Task<UsageListing> list_usage(KeyServers servers,
                              std::vector<std::string> accounts,
                              api::UsagePeriod period);

// The ids of all accounts, deleted ones included, oldest first.
Task<std::vector<std::string>> list_account_ids(KeyServers servers);

// Their entries in the index, in pieces of at most `most`, in no order. The
// names of damaged ones are no ids.
Task<IndexPage> read_account_index(KeyServers servers, api::ScanPlace from,
                                   std::size_t most);

}  // namespace petstore::store
