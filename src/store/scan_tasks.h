#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>

#include "../redis/link.h"
#include "index_page.h"
#include "task.h"

namespace petstore::store {

// Read a whole hash or set in pieces (redis::Scan), so that a large one does
// not delay other clients. An entry that a scan returns twice counts once. What
// is there from the beginning to the end is found, also if the key gets another
// server meanwhile; fail if that happens again and again. Fail as damaged if
// the key has another type. `key` must outlive the task.
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
