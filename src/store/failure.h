#pragma once

#include "../api/error.h"
#include "../redis/link.h"

namespace petstore::store {

// The client's error for a failed command: outcome_unknown for a write whose
// outcome is unknown, internal_error for damaged data, service_unavailable
// otherwise.
api::Error failure_of(const redis::Reply& error, bool write) noexcept;
api::Error failure_of(redis::NoReply cause, bool write) noexcept;

}  // namespace petstore::store
