#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "digest.h"

namespace petstore::api {

// The token of an Authorization header (RFC 6750, section 2.1): scheme in any
// case, one or more spaces. nullopt: another scheme, or no token.
std::optional<std::string_view>
bearer_token(std::string_view authorization) noexcept;

inline constexpr std::size_t kMaxKeyLength = 512;

// What can be said of a token without asking anyone. Keys of our own making
// are "<prefix>_", 43 base62 characters and 6 more that check them, so that
// one mistyped or invented costs no look-up. `imported` is any other token of
// 1 to 512 visible ASCII characters: only a look-up can tell.
enum class KeyForm { issued, imported, malformed };

KeyForm key_form(std::string_view token, std::string_view prefix) noexcept;

// A new key of the issued form from 256 random bits.
std::string make_key(std::string_view prefix, const Digest& random);

// `count` base62 characters from the leading bits of `random` (ids of keys and
// accounts; at most 43).
std::string base62_id(const Digest& random, std::size_t count);

}  // namespace petstore::api
