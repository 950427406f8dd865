#pragma once

#include <string_view>

namespace petstore::api {

// Whether a Content-Type is application/json without a charset other than utf-8
// (RFC 9110, section 8.3). Ignores other parameters.
bool is_json_media_type(std::string_view content_type) noexcept;

}  // namespace petstore::api
