#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "../../store/schema.h"
#include "../redis/redis_session.h"

namespace petstore::ctl {

// Moves a whole store to another Redis, while workers use the first one: from a
// single Redis to a Cluster, for example. The steps, each of which an
// interrupted move repeats:
//
// 1. Both are marked as not having the accounts, so neither creates any.
// 2. AccountMover moves counters, bans and usage. From then on, the first Redis
//    admits no requests, and so no changes of pets.
// 3. The catalogue is frozen there, then copied.
// 4. The records of API keys, accounts and plans are copied. Nobody may change
//    them meanwhile.
// 5. The other Redis is marked as having the accounts.
//
// What is left on the first Redis is an unused copy; a move in the other
// direction replaces it. Throws Failure.
class StoreMover {
public:
    StoreMover(RedisSession& source, RedisSession& destination,
               const store::Schema& schema)
        : source_(source), destination_(destination), schema_(schema)
    {}

    struct Moved {
        std::size_t accounts = 0;
        std::size_t keys = 0;
        std::int64_t pets = 0;
    };
    // All zero if an earlier call has completed the move.
    Moved run();

private:
    using Names = std::set<std::string>;

    // The names of the store's Redis keys, except those of the states of
    // accounts, and indexes.
    struct Content {
        Names catalogue;
        Names records;
    };

    bool begin();
    void check_pet_count(bool resumed);
    void try_to_restore();
    Content find(RedisSession& redis) const;
    void empty_destination();
    void remove(const Names& names);
    void copy(const Names& names);
    void copy_batch(const Names& names);
    void copy_index(const std::string& name);
    std::size_t count_keys(const Names& records) const;

    RedisSession& source_;
    RedisSession& destination_;
    const store::Schema& schema_;
    std::string id_;
};

}  // namespace petstore::ctl
