#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "../../api/pet.h"
#include "../../redis/command.h"
#include "../../redis/reply.h"
#include "../schema.h"

namespace petstore::store {

// Creates many pets in order with one command, for `petstorectl pet import`.
// Sends the script's text: with EVALSHA, a NOSCRIPT in a pipeline would let a
// later batch succeed before the earlier one is repeated.
class PetBatch {
public:
    // Bounds how long the script blocks Redis: 2 to 3 µs per pet.
    static constexpr std::size_t kMaxPets = 128;

    explicit PetBatch(const Schema& schema) : schema_(schema) {}

    // Borrows from `schema`, not from `pets`.
    redis::Command create(const std::vector<api::NewPet>& pets) const;

    struct Created {
        std::size_t count = 0;  // created, from the first on
        std::string error;      // of the next one; empty if all were created
    };
    // nullopt if this cannot be the reply to a batch of `sent` pets.
    static std::optional<Created> parse(const redis::Reply& reply,
                                        std::size_t sent);

private:
    const Schema& schema_;
};

}  // namespace petstore::store
