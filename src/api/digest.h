#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace petstore::api {

using Digest = std::array<unsigned char, 32>;

// Throws std::runtime_error if OpenSSL fails (a FIPS provider that did not
// load, out of memory).
Digest sha256(std::string_view bytes);

// Parses 64 hexadecimal digits, upper or lower case.
std::optional<Digest> digest_of_hex(std::string_view hex) noexcept;

inline std::string_view bytes_of(const Digest& digest) noexcept
{
    return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace petstore::api
