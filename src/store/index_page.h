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
    struct Piece {
        std::uint64_t cursor;
        std::uint64_t end;
    };
    std::vector<Piece> pieces;           // of each entry
    std::optional<api::ScanPlace> next;  // nullopt: it was the last piece
    bool whole = false;                  // one command returned all entries

    // Where to go on after an entry.
    api::ScanPlace after(std::size_t entry) const
    {
        const Piece& piece = pieces[entry];
        return {piece.cursor, piece.end, entries[entry].first};
    }
};

}  // namespace petstore::store
