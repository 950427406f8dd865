#pragma once

#include <cstddef>
#include <optional>

#include "../api/digest.h"
#include "../api/error.h"
#include "body_source.h"
#include "request.h"

namespace petstore::service {

enum class BodyType { json, merge_patch };  // RFC 7396: or JSON

// Checks the headers that describe a body of at most `limit` bytes. Throw
// std::bad_alloc.
std::optional<api::Error> check_body_headers(const Request& request,
                                             BodyType type, std::size_t limit);

// Takes the digest of the Idempotency-Key, if there is one.
std::optional<api::Error>
read_idempotency_key(const Request& request,
                     std::optional<api::Digest>& digest);

// The error for a body of at most `limit` bytes that was not read completely.
std::optional<api::Error> body_error(BodyWaiter::Result result,
                                     std::size_t limit);

}  // namespace petstore::service
