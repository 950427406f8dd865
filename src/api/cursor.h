#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace petstore::api {

// Opaque cursors in URLs: base64url of some bytes and their CRC-32, which
// detects truncated and mistyped ones. Not a secret. Throw std::bad_alloc.
std::string seal(std::string bytes);
std::optional<std::string> unseal(std::string_view cursor);

void append_big_endian(std::string& out, std::uint64_t value, int bytes);
std::uint64_t big_endian(std::string_view bytes) noexcept;

}  // namespace petstore::api
