#pragma once

#include <string_view>

#include "reply.h"

namespace petstore::redis {

// How each Redis error is handled. One row for every error that Redis, Sentinel
// or Cluster can return, and for those of our own scripts.
struct ErrorRow {
    std::string_view code;  // first word of the error
    bool executed;          // the command may have had an effect
    bool operator_fault;    // needs operator action: logged as an error
    bool replica = false;   // returned by replicas only
};

// The row for an error code. Unknown codes get the most cautious row.
const ErrorRow& error_row(std::string_view code) noexcept;

// The server does not have the script that was called by its digest. Nothing
// was executed, so the call may be repeated with the script's text.
inline bool is_unknown_script(const Reply& reply) noexcept
{
    return reply.error_code() == "NOSCRIPT";
}

// The key that the command names holds another type.
inline bool is_wrong_type(const Reply& reply) noexcept
{
    return reply.error_code() == "WRONGTYPE";
}

}  // namespace petstore::redis
