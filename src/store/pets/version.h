#pragma once

#include <cstdint>
#include <string_view>

#include "../../redis/reply.h"
#include "record.h"

namespace petstore::store {

// A state of the catalogue. Both numbers only grow: pets are never deleted, new
// ones are appended, and each change of an existing pet, and of how the next
// pets get their ids, is counted.
struct Version {
    Position count = 0;  // of pets, which is the last position
    std::int64_t changes = 0;

    // Parses the values of both keys, nil for a missing one. An invalid or
    // negative number becomes -1.
    static Version parse(const redis::Reply& count,
                         const redis::Reply& changes) noexcept;
    static Version parse(std::string_view count,
                         std::string_view changes) noexcept;

    // Which of the two keys is damaged. The first pet creates both, so neither
    // can exist alone.
    enum class Damage { none, count, changes };
    Damage damage() const noexcept;

    // There are no pets, or both keys were lost.
    bool is_empty() const noexcept { return count == 0 && changes == 0; }

    // Whether this is the same state as `other` or a later one.
    bool covers(const Version& other) const noexcept
    {
        return count >= other.count && changes >= other.changes;
    }
};

}  // namespace petstore::store
