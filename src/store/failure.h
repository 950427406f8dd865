#pragma once

#include "../api/error.h"
#include "../redis/link.h"

namespace petstore::store {

// Whether a create was refused because the catalogue is full.
bool is_full(const redis::Reply& error) noexcept;

// The client's error for a failed command: outcome_unknown for a write whose
// outcome is unknown, internal_error for damaged data, service_unavailable
// otherwise.
api::Error failure_of(const redis::Reply& error, bool write) noexcept;
api::Error failure_of(redis::NoReply cause, bool write) noexcept;

// The error for a read that failed in the worker itself, usually for lack of
// memory: as if Redis had not been asked.
api::Error read_not_sent() noexcept;

}  // namespace petstore::store
