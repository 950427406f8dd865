#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "../api/scan_place.h"
#include "../redis/link.h"
#include "index_page.h"
#include "task.h"

namespace petstore::store {

struct PieceEnd {
    std::optional<api::ScanPlace> next;  // nullopt: it was the last
    // Whether the pieces up to here suffice, whatever servers they came from,
    // as after one command that returned the whole index.
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

enum class IndexKind { hash, set };

// Reads at most `most` entries from `from` on, at least one unless there is no
// more.
Task<IndexPage> read_index_page(redis::Link& link, std::string key,
                                IndexKind kind, api::ScanPlace from,
                                std::size_t most);

}  // namespace petstore::store
