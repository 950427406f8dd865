#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "error.h"
#include "pet.h"
#include "query.h"

namespace petstore::api {

struct ListQuery {
    int limit = 20;
    std::optional<Status> status;
    PetId after = 0;  // exclusive; 0 = from the start
};

// Parses a raw query string (still percent-encoded, without the "?"). Ignores
// unknown parameters. A known one that is repeated, empty, malformed or out of
// range yields invalid_parameter, with its name in the message. A cursor must
// come from encode_cursor() with the same filter.
std::variant<ListQuery, Error> parse_list_query(std::string_view query);

// Opaque keyset cursor: base64url of a version byte, the filter, the last id
// seen (8 bytes, big endian) and a CRC-32 of those, which detects truncated and
// mistyped cursors. Not a secret.
std::string encode_cursor(PetId after, std::optional<Status> status);

// The value of the Link header: <base/pets?limit=…&status=…&cursor=…>;
// rel="next", and the same without a cursor as rel="first". `base` is the base
// path, prefixed with petstore_base_url if that is set.
std::string page_links(std::string_view base, const ListQuery& query,
                       PetId last);

}  // namespace petstore::api
