#include "error_table.h"

#include <iterator>

#include "../api/text.h"

namespace petstore::redis {

namespace {

using api::ErrorCode;
using Log = ErrorRow::Log;
using Resend = ErrorRow::Resend;

constexpr auto kUnavailable = ErrorCode::service_unavailable;
constexpr auto kDamaged = ErrorCode::internal_error;

// `executed` describes the whole command. A script may fail after its first
// write, so any error that a single redis.call can return counts as executed,
// unless Redis checks for it before a script's first write.
//
// A row with several words must precede the row with only the first of them.
constexpr ErrorRow kErrors[] = {
    // code, read_error, executed, resend, log, replica
    {"NOSCRIPT", kUnavailable, false, Resend::script_text, Log::nothing},
    {"LOADING", kUnavailable, false, Resend::no, Log::warning},
    // Another client's script hangs.
    {"BUSY", kUnavailable, false, Resend::no, Log::error},
    {"UNKILLABLE", kUnavailable, false, Resend::no, Log::error},
    {"READONLY", kUnavailable, false, Resend::no, Log::outage, true},
    {"MASTERDOWN", kUnavailable, false, Resend::no, Log::outage, true},
    {"OOM", kUnavailable, false, Resend::no, Log::error},
    {"MISCONF", kUnavailable, false, Resend::no, Log::error},
    {"NOREPLICAS", kUnavailable, false, Resend::no, Log::error},
    {"NOAUTH", kUnavailable, false, Resend::no, Log::error},
    {"WRONGPASS", kUnavailable, false, Resend::no, Log::error},
    {"NOPERM", kUnavailable, true, Resend::no, Log::error},
    // Protected mode.
    {"DENIED", kUnavailable, false, Resend::no, Log::error},
    {"NOPROTO", kUnavailable, false, Resend::no, Log::error},
    {"MOVED", kUnavailable, false, Resend::no, Log::warning},
    {"ASK", kUnavailable, false, Resend::no, Log::warning},
    // Sent by Valkey during a failover.
    {"REDIRECT", kUnavailable, false, Resend::no, Log::warning},
    {"TRYAGAIN", kUnavailable, false, Resend::no, Log::warning},
    {"CLUSTERDOWN", kUnavailable, false, Resend::no, Log::warning},
    {"CROSSSLOT", kUnavailable, false, Resend::no, Log::error},
    {"EXECABORT", kUnavailable, false, Resend::no, Log::error},
    // A WAIT that a failover ended.
    {"UNBLOCKED", kUnavailable, true, Resend::no, Log::warning},
    {"NOGOODSLAVE", kUnavailable, false, Resend::no, Log::warning},
    {"NOQUORUM", kUnavailable, false, Resend::no, Log::warning},
    {"IDONTKNOW", kUnavailable, false, Resend::no, Log::warning},
    // Damage is logged separately, see store/damage.h. DAMAGED is returned by
    // our scripts, which changed nothing.
    {"WRONGTYPE", kDamaged, true, Resend::no, Log::nothing},
    {"DAMAGED", kDamaged, false, Resend::no, Log::nothing},
    // Returned by create_pets.lua, which changed nothing. Logged by StorageLog.
    {"FULL", kUnavailable, false, Resend::no, Log::nothing},
    // Sent in place of the first reply; Redis then closes the connection.
    {"ERR max number of clients reached", kUnavailable, false, Resend::no,
     Log::outage},
    // While a slot moves. Our scripts have changed nothing, or undone it.
    {kForeignKey, kUnavailable, false, Resend::no, Log::warning},
    {kForeignKeyAmongOwn, kUnavailable, false, Resend::no, Log::warning},
    {"ERR", kUnavailable, true, Resend::no, Log::error},
    {"", kUnavailable, true, Resend::no, Log::error},
};

bool begins_with(std::string_view error, std::string_view words) noexcept
{
    return api::starts_with(error, words)
           && (error.size() == words.size() || error[words.size()] == ' ');
}

}  // namespace

ErrorRows error_rows() noexcept
{
    return {kErrors, std::size(kErrors)};
}

const ErrorRow& error_row(std::string_view error) noexcept
{
    const ErrorRow* row = kErrors;
    while (!row->code.empty() && !begins_with(error, row->code)) {
        ++row;
    }
    return *row;
}

}  // namespace petstore::redis
