#pragma once

#include <cstddef>

#include "slot.h"

namespace petstore::metrics {

// Requests to guarded locations by route, in shared memory. All workers share
// one table: with one for each, a name would cost half a kilobyte per worker.
struct Routes {
    static constexpr std::size_t kSize = 64;
    using RouteNames = Names<kSize, 65>;

    RouteNames names;
    // The last one, Names::kNone: of those that the table has no room for.
    Counter requests[kSize + 1][kStatuses.size() + 1];
    Histogram durations[kSize + 1];
};

}  // namespace petstore::metrics
