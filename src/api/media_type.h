#pragma once

#include <string_view>

namespace petstore::api {

// Whether a Content-Type is application/json without a charset other than utf-8
// (RFC 9110, section 8.3). Ignores other parameters.
bool is_json_media_type(std::string_view content_type) noexcept;

// The same for application/merge-patch+json (RFC 7396).
bool is_merge_patch_media_type(std::string_view content_type) noexcept;

// Whether an Accept header (RFC 9110, section 12.5.1) prefers one media type to
// another: by quality, and if that is equal, by the more specific range.
// Ignores all parameters but q, and ranges whose q is invalid.
bool prefers(std::string_view accept, std::string_view type,
             std::string_view other) noexcept;

}  // namespace petstore::api
