#pragma once

#include <string_view>

namespace petstore::api {

// Why `text` cannot equal an Origin header that a browser sends (RFC 6454,
// serialized as in the URL standard), as an English clause. nullptr if it can.
// "null" is refused, too.
const char* origin_problem(std::string_view text) noexcept;

}  // namespace petstore::api
