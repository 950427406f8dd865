#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../api/scan_place.h"

namespace petstore::store {

// A piece of an index: some of its entries, by name, and where to go on.
struct IndexPage {
    // Fields with their values, or members, whose value is empty.
    std::vector<std::pair<std::string, std::string>> entries;
    std::optional<api::ScanPlace> next;  // nullopt: it was the last piece
};

}  // namespace petstore::store
