#pragma once

#include "../redis/link.h"
#include "schema.h"

namespace petstore::store {

// The Redis servers of a store: that of its keys, and that of its accounts,
// which may be another one.
struct KeyServers {
    redis::Link& keys;
    redis::Link& accounts;
    const Schema& schema;

    // Whether all records and accounts are on one server.
    bool are_one() const noexcept
    {
        return &keys == &accounts && !keys.is_cluster();
    }
};

}  // namespace petstore::store
