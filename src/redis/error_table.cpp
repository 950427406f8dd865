#include "error_table.h"

namespace petstore::redis {

namespace {

// `executed` describes the whole command. A script may fail after its first
// write, so any error that a single redis.call can return counts as executed,
// unless Redis checks for it before a script's first write.
constexpr ErrorRow kErrors[] = {
    // code, executed, operator_fault, replica
    {"NOSCRIPT", false, false},
    {"LOADING", false, false},
    {"BUSY", false, true},  // someone else's script hangs
    {"READONLY", false, false, true},
    {"MASTERDOWN", false, false, true},
    {"OOM", false, true},
    {"MISCONF", false, true},
    {"NOREPLICAS", false, true},
    {"NOAUTH", false, true},
    {"WRONGPASS", false, true},
    {"NOPERM", true, true},
    {"DENIED", false, true},  // protected mode
    {"NOPROTO", false, true},
    {"MOVED", false, false},
    {"ASK", false, false},
    {"REDIRECT", false, false},  // Valkey's, during a failover
    {"TRYAGAIN", false, false},
    {"CLUSTERDOWN", false, false},
    {"CROSSSLOT", false, true},
    {"EXECABORT", false, true},
    {"UNBLOCKED", true, false},  // WAIT, ended by a failover
    // Damage is logged separately, see store/damage.h.
    {"WRONGTYPE", true, false},
    {"NOGOODSLAVE", false, false},
    {"NOQUORUM", false, false},
    {"IDONTKNOW", false, false},
    {"ERR", true, true},
    {"DAMAGED", false, false},  // by our scripts, which changed nothing
};

constexpr ErrorRow kUnknown = {"", true, true};

}  // namespace

const ErrorRow& error_row(std::string_view code) noexcept
{
    for (const ErrorRow& row : kErrors) {
        if (row.code == code) {
            return row;
        }
    }
    return kUnknown;
}

}  // namespace petstore::redis
