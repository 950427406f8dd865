#pragma once

#include <cstdint>
#include <string>

namespace petstore::api {

// A place in a walk through an index of Redis, as SCAN walks: where a piece
// began and ended, as cursors, and the last entry taken of it, by name.
// Whatever is in the index all the time is found, and may be found twice.
struct ScanPlace {
    std::uint64_t cursor = 0;
    std::uint64_t end = 0;  // of the piece of `after`; 0: of the index
    std::string after;      // empty: none of the piece was taken
};

}  // namespace petstore::api
