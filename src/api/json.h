#pragma once

#include <string_view>
#include <variant>

#include "error.h"
#include "pet.h"

namespace petstore::api {

inline constexpr int kMaxJsonDepth = 16;

// Parses a pet: the body of createPet. Ignores unknown members. Requires I-JSON
// (RFC 7493): UTF-8 without a byte order mark, no lone surrogates, no duplicate
// names at any level; depth at most kMaxJsonDepth.
//
// If there are several errors, the first in this list is returned, whatever the
// order of the members: missing_body (empty or white space only), invalid_json,
// read_only_field ("id" is present and refused), missing_field, invalid_field
// (name before categoryId before status).
std::variant<NewPet, Error> parse_new_pet(std::string_view body);

// The same for a line of an import or export, which may have an "id": `id`
// becomes that, or 0 if it is missing or no integer above 0.
std::variant<NewPet, Error> parse_exported_pet(std::string_view line,
                                               PetId& id);

}  // namespace petstore::api
