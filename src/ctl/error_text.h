#pragma once

#include <string>

#include "../redis/reply.h"

namespace petstore::ctl {

// The text of an error reply, safe for a terminal: its first 200 bytes, without
// control characters.
std::string error_text(const redis::Reply& error);

}  // namespace petstore::ctl
