#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../../api/account.h"
#include "../../api/scan_place.h"

namespace petstore::store {

// Names an account: by its id or, if that is empty, by its external id.
struct AccountName {
    std::string id;
    std::string external_id;
};

struct AccountListing {
    std::vector<api::AccountRecord> accounts;  // oldest first
    // Ids in the index whose record is missing, see lacks_record(), or damaged.
    std::vector<std::string> missing;
    std::vector<std::string> damaged;
    // Ids whose record is on a server of a Cluster that is away.
    std::vector<std::string> unread;
};

// A part of a listing, and where to go on; nullopt: it was the last part.
struct AccountPage {
    AccountListing listing;
    std::optional<api::ScanPlace> next;
    bool whole = false;  // as in IndexPage
};

}  // namespace petstore::store
