#pragma once

#include <cstdint>

#include "../api/pet.h"

namespace petstore::store {

// What the catalogue was like at a moment. Both numbers only grow: a pet is
// never deleted, a new one only adds to the end, and every change of a pet
// that exists is counted.
struct Version {
    api::PetId last_id = 0;
    std::int64_t changes = 0;

    // Whether this is the state of `other` or a later one.
    bool covers(const Version& other) const noexcept
    {
        return last_id >= other.last_id && changes >= other.changes;
    }
};

}  // namespace petstore::store
