#pragma once

#include <optional>

#include "../api/limit.h"
#include "reply.h"

namespace petstore::redis {

// The clock in a reply to TIME, or in one that begins as such a reply does;
// nullopt if it is not one.
std::optional<api::Millis> parse_time(const Reply& reply) noexcept;

}  // namespace petstore::redis
