#pragma once

#include <string>

#include "chaos.h"
#include "redis_client.h"

namespace petstore::e2e {

// What a Redis that lies says in place of a reply. `name` is a word for the
// journal. Never RESP that would make the *test* fail: everything is allowed.
struct Lie {
    std::string name;
    std::string bytes;
    bool close = false;  // the connection, afterwards
};

Lie lie_instead_of(const std::string& command, const std::string& reply,
                   Random& random);

// A value as Redis writes it.
std::string encode_value(const Value& value);

}  // namespace petstore::e2e
