#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../api/date.h"
#include "../api/limit.h"
#include "../store/clock.h"
#include "../store/pets/response_cache.h"

namespace petstore::service {

// When getPet was announced as deprecated (RFC 9745).
inline constexpr std::string_view kDeprecatedSince =
    "@1795219200";  // 2026-11-21, the first release

// The configuration of one location. Outlives the requests that it serves.
struct Settings {
    static constexpr api::UnixTime kNeverGone = 0;

    std::string base_path;
    std::string link_base;     // prefix of links: base URL and path
    std::size_t max_body = 0;  // bytes
    api::UnixTime get_sunset = kNeverGone;
    std::int64_t cost = 1;  // of a request, in units; 0: Request::cost()
    store::Monotonic redis_timeout = 500;  // of a command, in milliseconds
    // The header that may have the API key instead of Authorization, empty for
    // none, and the message and the challenges of a 401.
    std::string key_header;
    std::string missing_key;
    std::string challenge;
    std::string challenge_to_key;

    // What a key needs, besides being valid: one of these plans, unless there
    // are none, and in guarded locations this scope; empty: `read` or `write`,
    // by the client's method.
    std::vector<std::string> plans;
    std::string scope;

    bool limit_dry_run = false;
    bool enforce_address_limit = false;
    api::BanPolicy ban;

    // The OpenAPI document, ready to be sent, and its ETag.
    std::shared_ptr<const store::CachedResponse> document;
    std::string document_etag;
};

}  // namespace petstore::service
