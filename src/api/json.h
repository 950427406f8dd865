#pragma once

#include <string_view>
#include <variant>

#include "error.h"
#include "pet.h"

namespace petstore::api {

inline constexpr int kMaxJsonDepth = 16;

// Reads the body of createPet by SAX: nothing is built from what the client
// sends but the three values we keep. I-JSON (RFC 7493): UTF-8 without a byte
// order mark, no lone surrogates, no duplicate names at any level; depth at
// most kMaxJsonDepth.
//
// Errors, of several the first in this list, whatever the order of members:
// missing_body (empty or white space only), invalid_json, read_only_field ("id"
// present, whatever its value), missing_field, invalid_field (name before
// categoryId before status).
std::variant<NewPet, Error> parse_new_pet(std::string_view body);

}  // namespace petstore::api
