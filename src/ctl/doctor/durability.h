#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace petstore::ctl {

// What a Redis reports about itself; nullopt or empty if unknown.
struct DurabilityFacts {
    std::string version;                       // of Redis, such as "7.2.4"
    std::optional<bool> append_only;           // appendonly
    std::optional<std::string> fsync;          // appendfsync
    std::optional<std::string> snapshots;      // save
    std::optional<std::int64_t> replicas;      // online
    std::optional<std::int64_t> min_replicas;  // min-replicas-to-write
};

// The row of the table in docs/operations.md, "Durability", that applies
// without petstore_durability; empty if unknown.
std::string durability_row(const DurabilityFacts& facts);

// What petstore_durability could add, for the operator.
std::string reachable_durability(const DurabilityFacts& facts);

}  // namespace petstore::ctl
