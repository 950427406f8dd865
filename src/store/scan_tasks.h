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

// Reads a piece of an index. Returns where to go on; nullopt: it was the last.
using ReadPiece =
    std::function<Task<std::optional<api::ScanPlace>>(api::ScanPlace from)>;

// Reads an index piece by piece. Begins again if its key gets another server
// meanwhile, to which a cursor means nothing, even with the same data; fails if
// that happens again and again. So `read` has found what was there from its
// latest beginning to the end. `key` and `read` must outlive the task.
Task<> read_in_pieces(redis::Link& link, const std::string& key,
                      const ReadPiece& read);

// Read a whole hash or set in this way, so that a large one does not delay
// other clients. An entry that a scan returns twice counts once. Fail as
// damaged if the key has another type. `key` must outlive the task.
Task<std::map<std::string, std::string>> read_hash(redis::Link& link,
                                                   const std::string& key);
Task<std::set<std::string>> read_set(redis::Link& link, const std::string& key);

enum class IndexKind { hash, set };

// Reads at most `most` entries from `from` on, at least one unless there is no
// more.
Task<IndexPage> read_index_page(redis::Link& link, const std::string& key,
                                IndexKind kind, const api::ScanPlace& from,
                                std::size_t most);

}  // namespace petstore::store
