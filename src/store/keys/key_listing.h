#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "../../api/scan_place.h"
#include "key_commands.h"

namespace petstore::store {

struct KeyListing {
    // How many records a listing reads at once.
    static constexpr std::size_t kAtOnce = 256;

    std::vector<StoredKey> keys;  // oldest first
    // Ids in the index whose record is missing or damaged, and those whose
    // entry does not lead to a record.
    std::vector<std::string> missing;
    std::vector<std::string> damaged;
    std::set<std::string> damaged_entries;
    // Ids whose record is on a server of a Cluster that is away.
    std::vector<std::string> unread;
};

// A part of a listing, and where to go on; nullopt: it was the last part.
struct KeyPage {
    KeyListing listing;
    std::optional<api::ScanPlace> next;
    bool whole = false;  // as in IndexPage
};

}  // namespace petstore::store
