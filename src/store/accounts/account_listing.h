#pragma once

#include <string>
#include <vector>

#include "../../api/account.h"

namespace petstore::store {

// Names an account: by its id or, if that is empty, by its external id.
struct AccountName {
    std::string id;
    std::string external_id;
};

struct AccountListing {
    std::vector<api::AccountRecord> accounts;  // oldest first
    // Ids in the index whose record is missing (it was never completed, or its
    // account was deleted 400 days ago) or damaged.
    std::vector<std::string> missing;
    std::vector<std::string> damaged;
    // Ids whose record is on a server of a Cluster that is away.
    std::vector<std::string> unread;
};

}  // namespace petstore::store
