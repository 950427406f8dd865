#pragma once

#include <cstdint>

namespace petstore::redis {

// The durability that a write waits for after Redis has executed it.
struct Durability {
    std::int64_t replicas = 0;  // how many must have it in memory
    bool fsync = false;         // it must be on the primary's disk

    bool any() const noexcept { return replicas != 0 || fsync; }
    bool operator==(const Durability& other) const noexcept
    {
        return replicas == other.replicas && fsync == other.fsync;
    }
};

}  // namespace petstore::redis
