#pragma once

#include <string_view>

#include "../api/error.h"
#include "link.h"

namespace petstore::store {

// How a worker takes an error of Redis. One row for every error that Redis,
// Sentinel or Cluster can answer with, and for those of our scripts.
struct RedisError {
    std::string_view code;  // first word of the error
    bool executed;          // the command may have had an effect
    bool retry_with_eval;   // NOSCRIPT: send the text instead of its digest
    bool operator_fault;    // a matter for the operator: log as error
    bool replica = false;   // only a replica answers so
};

// The row for an error reply; an unknown one gets the cautious row.
const RedisError& redis_error(std::string_view code) noexcept;

// What the client is told. A write whose outcome is open is outcome_unknown,
// damage of the data internal_error, everything else service_unavailable.
api::Error failure_of(const resp::Reply& error, bool write);
api::Error failure_of(Loss loss, bool write);

}  // namespace petstore::store
