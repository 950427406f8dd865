#pragma once

#include <cstdint>

namespace petstore::store {

// SplitMix64's finalizer, a hash of one number. Clients choose ids, so
// neighbours and multiples must not collide.
constexpr std::uint64_t mix(std::uint64_t x) noexcept
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9U;
    x = (x ^ x >> 27) * 0x94d049bb133111ebU;
    return x ^ x >> 31;
}

}  // namespace petstore::store
