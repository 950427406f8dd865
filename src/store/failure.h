#pragma once

#include "../redis/link.h"
#include "outcome.h"

namespace petstore::store {

// Whether a create was refused because the catalogue is full.
bool is_full(const redis::Reply& error) noexcept;

// What a command is for. Those of the limiter write, but nothing that the
// client has asked for.
enum class Purpose { read, change };

// Why a command failed, with the client's error: outcome_unknown for a change
// that is in doubt, internal_error for damaged data, service_unavailable
// otherwise.
Failure failure_of(const redis::Reply& error, Purpose purpose) noexcept;
Failure failure_of(redis::NoReply cause, Purpose purpose) noexcept;

// The accounts are elsewhere, or the limiter's reply is invalid.
Failure not_counted() noexcept;

// As if Redis had not been asked: memory is short, too many requests wait, or
// the reply is unusable.
Failure unavailable() noexcept;

}  // namespace petstore::store
