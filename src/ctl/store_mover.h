#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../store/command_runner.h"
#include "../store/schema.h"

namespace petstore::ctl {

// Moves a whole store to another Redis, while workers use the first one: from a
// single Redis to a Cluster, for example. The steps, each of which an
// interrupted move repeats:
//
// 1. Both say that accounts are elsewhere: neither creates any.
// 2. Counters and bans, as by AccountMover. From then on, the first Redis
//    admits no request, and so no change of pets.
// 3. The catalogue is frozen there, and copied.
// 4. Records of API keys and their index, which nobody may change meanwhile.
// 5. The other Redis says that accounts are there.
//
// What is left on the first Redis is a copy that nobody uses; a move in the
// other direction replaces it. Throws Failure.
class StoreMover {
public:
    StoreMover(store::CommandRunner& source, store::CommandRunner& destination,
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
    using Names = std::vector<std::string>;

    // The names of Redis keys of the store, but for those of accounts.
    struct Content {
        Names catalogue;
        Names records;
    };

    bool begin();
    Content find(store::CommandRunner& redis) const;
    void find_on(store::CommandRunner& redis, Content& found) const;
    void empty_destination();
    void remove(const Names& names);
    void copy(const Names& names);
    void copy_batch(const Names& names);
    void copy_index();

    store::CommandRunner& source_;
    store::CommandRunner& destination_;
    const store::Schema& schema_;
    std::string id_;
};

}  // namespace petstore::ctl
