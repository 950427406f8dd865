#pragma once

#include <cstddef>
#include <cstdint>
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
    // The cursors of the pieces that they are in.
    std::vector<std::uint64_t> cursors;
    std::optional<api::ScanPlace> next;  // nullopt: it was the last piece

    // Where to go on after an entry.
    api::ScanPlace after(std::size_t entry) const
    {
        return {cursors[entry], entries[entry].first};
    }
};

}  // namespace petstore::store
