#pragma once

#include <cstddef>
#include <string_view>

#include "../api/error.h"
#include "reply.h"

namespace petstore::redis {

// How each Redis error is handled. One row for every error that Redis, Sentinel
// or Cluster can return, and for those of our own scripts. docs/operations.md
// shows the same rows; a unit test compares them.
struct ErrorRow {
    enum class Resend {
        no,
        script_text,  // once, with the script's text instead of its digest
    };
    enum class Log {
        nothing,  // normal, or logged elsewhere with the Redis key
        warning,  // resolves itself; at most one line per second
        error,    // needs operator action; at most one line per second
        outage,   // the connection counts as lost; one line per outage
    };

    std::string_view code;  // the error, or its first words

    // The client's error if the command makes no lasting change: a lookup, the
    // limiter, a read.
    api::ErrorCode read_error;

    // The command may have had an effect; a write then returns
    // outcome_unknown.
    bool executed;

    Resend resend;
    Log log;
    bool replica = false;  // returned by replicas only

    api::ErrorCode write_error() const noexcept
    {
        return executed ? api::ErrorCode::outcome_unknown : read_error;
    }
};

// Returned by a script on a server that lacks a key of the script's slot,
// because the slot is moving. From version 8 on, Redis and Valkey have the
// second text where other keys of the command are there.
constexpr std::string_view kForeignKey =
    "ERR Script attempted to access a non local key";
constexpr std::string_view kForeignKeyAmongOwn =
    "ERR Unable to execute command";

struct ErrorRows {
    const ErrorRow* first;
    std::size_t size;

    const ErrorRow* begin() const noexcept { return first; }
    const ErrorRow* end() const noexcept { return first + size; }
};

// All rows. The last one, without a code, is for unknown errors.
ErrorRows error_rows() noexcept;

// The row for an error's text, or for its first words. Unknown errors get the
// most cautious row.
const ErrorRow& error_row(std::string_view error) noexcept;

// The server does not know the digest of the called script. Nothing was
// executed, so the call may be repeated with the script's text.
inline bool is_unknown_script(const Reply& reply) noexcept
{
    return reply.is_error()
           && error_row(reply.text()).resend == ErrorRow::Resend::script_text;
}

// An ACL rule forbids the command or its keys.
inline bool is_forbidden(const Reply& reply) noexcept
{
    return reply.error_code() == "NOPERM";
}

// The key that the command names holds another type.
inline bool is_wrong_type(const Reply& reply) noexcept
{
    return reply.error_code() == "WRONGTYPE";
}

}  // namespace petstore::redis
