#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "digest.h"

namespace petstore::api {

// Extracts the token of an Authorization header (RFC 6750, section 2.1). The
// scheme is case-insensitive and followed by one or more spaces. nullopt for
// another scheme or a missing token.
std::optional<std::string_view>
bearer_token(std::string_view authorization) noexcept;

// WWW-Authenticate of a 401 (RFC 6750, section 3), without and with a key. The
// realm is a quoted-string without its quotes.
std::string challenge(std::string_view realm);
std::string challenge_to_key(std::string_view realm);

// The message of missing_api_key. `header`: another one that may have the key;
// empty for none.
std::string missing_key_message(std::string_view header);

inline constexpr std::size_t kMaxKeyLength = 512;

// What the form of a token reveals without a lookup. `issued`: "<prefix>_", 43
// base62 characters and 6 check characters, so a mistyped or invented key costs
// no lookup. `imported`: any other token of 1 to 512 visible ASCII characters;
// only a lookup can validate it.
enum class KeyForm { issued, imported, malformed };

KeyForm key_form(std::string_view token, std::string_view prefix) noexcept;

// Creates a key of the issued form from 256 random bits.
std::string make_key(std::string_view prefix, const Digest& random);

// Creates an id for a key or account: `count` base62 characters, at most 43,
// from the leading bits of `random`.
std::string base62_id(const Digest& random, std::size_t count);

}  // namespace petstore::api
