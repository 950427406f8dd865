#pragma once

#include <optional>
#include <string_view>

#include "../api/limit.h"
#include "reply.h"

namespace petstore::redis {

// The value of the line "name:value" in a reply to INFO; empty if there is
// none.
std::string_view info_field(std::string_view info,
                            std::string_view name) noexcept;

// The clock in a reply to TIME, or in one that begins as such a reply does;
// nullopt if it is not one.
std::optional<api::Millis> parse_time(const Reply& reply) noexcept;

}  // namespace petstore::redis
