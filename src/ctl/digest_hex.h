#pragma once

#include <optional>
#include <string_view>

#include "../api/digest.h"

namespace petstore::ctl {

// 64 hexadecimal digits in any case.
std::optional<api::Digest> digest_of_hex(std::string_view hex) noexcept;

}  // namespace petstore::ctl
