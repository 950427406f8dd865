#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../api/scan_place.h"
#include "../redis/link.h"
#include "task.h"

namespace petstore::store {

struct PieceEnd {
    std::optional<api::ScanPlace> next;  // nullopt: it was the last
    // The pieces so far are everything, even if the server has changed
    // meanwhile, as after one command that returned the whole index.
    bool certain = false;
};

using ReadPiece = std::function<Task<PieceEnd>(api::ScanPlace from)>;

// Reads an index piece by piece. Begins again if its key gets another server
// meanwhile, to which a cursor means nothing, even with the same data; fails if
// that happens again and again, as with each command that a Cluster redirects
// because a slot is open. So `read` has found what was there from its latest
// beginning to the end. `key` and `read` must outlive the task.
Task<> read_in_pieces(redis::Link& link, const std::string& key,
                      const ReadPiece& read);

// Read a whole hash or set in this way, so that a large one does not delay
// other clients. An entry that a scan returns twice counts once. Fail as
// damaged if the key has another type.
Task<std::map<std::string, std::string>> read_hash(redis::Link& link,
                                                   std::string key);
Task<std::set<std::string>> read_set(redis::Link& link, std::string key);

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

enum class IndexKind { hash, set };

// Reads at most `most` entries from `from` on, at least one unless there is no
// more.
Task<IndexPage> read_index_page(redis::Link& link, std::string key,
                                IndexKind kind, api::ScanPlace from,
                                std::size_t most);

}  // namespace petstore::store
