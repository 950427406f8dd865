#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../../api/limit.h"

namespace petstore::store {

// Requests of one account for the limiter to decide on.
struct LimitRequest {
    std::string_view account;
    std::int64_t epoch = 0;
    api::Limits limits;
    std::int64_t requests = 1;
    std::int64_t cost = 1;  // of each request, in units
    // The key's record was read a moment ago, so an account that Redis does not
    // have is new rather than lost.
    bool fresh = false;
    // In a Cluster: MarkerReader has confirmed that accounts live there.
    bool placed = false;
    // The catalogue's version is wanted, too.
    bool needs_version = true;
};

// Encodes the requests, at least one and no two of one account, as an argument
// of limit.lua, in the layout that Redis reads fastest. Throws std::bad_alloc.
std::string pack_requests(const std::vector<LimitRequest>& requests,
                          bool in_cluster);

}  // namespace petstore::store
