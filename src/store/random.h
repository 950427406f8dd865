#pragma once

#include <string>

#include "../api/digest.h"

namespace petstore::store {

// 256 random bits. Throws std::runtime_error if OpenSSL has none.
api::Digest random_digest();

// 16 random base62 characters: the id of a key or account.
std::string new_id();

}  // namespace petstore::store
