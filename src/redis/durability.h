#pragma once

#include <cstdint>

namespace petstore::redis {

// What a write waits for after Redis has executed it.
struct Durability {
    std::int64_t replicas = 0;  // so many have it in memory
    bool fsync = false;         // it is on the primary's disk

    bool any() const noexcept { return replicas != 0 || fsync; }
    bool operator==(const Durability& other) const noexcept
    {
        return replicas == other.replicas && fsync == other.fsync;
    }
};

}  // namespace petstore::redis
