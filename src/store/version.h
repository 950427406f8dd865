#pragma once

#include <cstdint>

#include "../api/pet.h"
#include "../resp/reply.h"

namespace petstore::store {

// What the catalogue was like at a moment. Both numbers only grow: a pet is
// never deleted, a new one only adds to the end, and every change of a pet
// that exists is counted.
struct Version {
    api::PetId last_id = 0;
    std::int64_t changes = 0;

    // From the values of both keys, nil where there is none. A value that is no
    // number, or below 0, becomes -1.
    static Version parse(const resp::Reply& last_id,
                         const resp::Reply& changes) noexcept;

    // The first pet brings both numbers, so neither can be there alone: which
    // of their keys is damaged.
    enum class Damage { none, last_id, changes };
    Damage damage() const noexcept;

    // No pets, or the keys of both numbers are lost.
    bool is_empty() const noexcept { return last_id == 0 && changes == 0; }

    // Whether this is the state of `other` or a later one.
    bool covers(const Version& other) const noexcept
    {
        return last_id >= other.last_id && changes >= other.changes;
    }
};

}  // namespace petstore::store
