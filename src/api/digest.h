#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace petstore::api {

using Digest = std::array<unsigned char, 32>;

// SHA-256 by OpenSSL. Throws std::runtime_error where OpenSSL can't (a FIPS
// provider that failed to load, no memory).
Digest sha256(std::string_view bytes);

inline std::string_view bytes_of(const Digest& digest) noexcept
{
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace petstore::api
