#pragma once

#include <string>

#include "actors.h"
#include "e2e/support/redis_client.h"

namespace petstore::e2e {

// A lie in place of a reply. `name` identifies it in the journal. It may be
// anything, RESP or not, but must not make the *test* fail.
struct Lie {
    std::string name;
    std::string bytes;
    bool close = false;  // closes the connection afterwards
};

Lie lie_instead_of(const std::string& command, const std::string& reply,
                   Random& random);

// Encodes a value as RESP.
std::string encode_value(const Value& value);

}  // namespace petstore::e2e
