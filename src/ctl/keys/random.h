#pragma once

#include <string>

#include "../../api/digest.h"

namespace petstore::ctl {

// 256 random bits. Throws Failure.
api::Digest random_digest();

// 16 random base62 characters: the id of a key or account.
std::string new_id();

}  // namespace petstore::ctl
