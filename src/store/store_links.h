#pragma once

#include "../redis/link.h"
#include "schema.h"

namespace petstore::store {

// The links to the Redis of a store, borrowed. They are passed together: two
// parameters of the same type could be swapped, which charges the wrong Redis.
struct Links {
    // Records, plans, indexes, the catalogue.
    redis::Link& main;
    // States, bans, usage. The same link without a limit Redis.
    redis::Link& accounts;

    bool is_one_redis() const noexcept { return &main == &accounts; }

    // Whether everything is on one server.
    bool share_a_server() const noexcept
    {
        return is_one_redis() && !main.is_cluster();
    }
};

// What administration works with: also the names of the store's keys in Redis.
struct StoreLinks : Links {
    const Schema& schema;
};

}  // namespace petstore::store
