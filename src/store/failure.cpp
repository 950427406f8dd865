#include "failure.h"

#include "damage.h"

namespace petstore::store {

namespace {

// `executed` is said of the whole command. A script can meet an error after
// its first write: whatever a single redis.call can answer with counts as
// executed, unless Redis checks it before the first write of a script.
constexpr RedisError kErrors[] = {
    // code, executed, retry_with_eval, operator_fault, replica
    {"NOSCRIPT", false, true, false},
    {"LOADING", false, false, false},
    {"BUSY", false, false, true},  // a script of someone else hangs
    {"READONLY", false, false, false, true},
    {"MASTERDOWN", false, false, false, true},
    {"OOM", false, false, true},
    {"MISCONF", false, false, true},
    {"NOREPLICAS", false, false, true},
    {"NOAUTH", false, false, true},
    {"WRONGPASS", false, false, true},
    {"NOPERM", true, false, true},
    {"DENIED", false, false, true},  // protected mode
    {"NOPROTO", false, false, true},
    {"MOVED", false, false, false},
    {"ASK", false, false, false},
    {"REDIRECT", false, false, false},  // Valkey's word for a failover
    {"TRYAGAIN", false, false, false},
    {"CLUSTERDOWN", false, false, false},
    {"CROSSSLOT", false, false, true},
    {"EXECABORT", false, false, true},
    {"UNBLOCKED", true, false, false},  // WAIT ended by a failover
    // Damage has log lines of its own, see damage.h.
    {"WRONGTYPE", true, false, false},
    {"NOGOODSLAVE", false, false, false},
    {"NOQUORUM", false, false, false},
    {"IDONTKNOW", false, false, false},
    {"ERR", true, false, true},
    {"DAMAGED", false, false, false},  // by a script, which changed nothing
};

constexpr RedisError kUnknown = {"", true, false, true};

api::Error lost(bool outcome_open) noexcept
{
    if (outcome_open) {
        return {api::ErrorCode::outcome_unknown,
                "The store did not confirm the change: it may or may not have "
                "been made. Check before you repeat the request, or repeat it "
                "with the same Idempotency-Key."};
    }
    return {api::ErrorCode::service_unavailable,
            "The store is out of reach at the moment. Please try again "
            "later."};
}

}  // namespace

const RedisError& redis_error(std::string_view code) noexcept
{
    for (const RedisError& row : kErrors) {
        if (row.code == code) {
            return row;
        }
    }
    return kUnknown;
}

api::Error failure_of(const resp::Reply& error, bool write) noexcept
{
    const std::string_view code = error.error_code();
    if (code == "DAMAGED" || (!write && is_wrong_type(error))) {
        return damage_error();
    }
    return lost(write && redis_error(code).executed);
}

api::Error failure_of(Loss loss, bool write) noexcept
{
    return lost(write && loss == Loss::unknown);
}

}  // namespace petstore::store
