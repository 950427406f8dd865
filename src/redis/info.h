#pragma once

#include <string_view>

namespace petstore::redis {

// The value of the line "name:value" in a reply to INFO; empty if there is
// none.
std::string_view info_field(std::string_view info,
                            std::string_view name) noexcept;

}  // namespace petstore::redis
