#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "../api/pet.h"
#include "../resp/command.h"
#include "../resp/reply.h"
#include "schema.h"

namespace petstore::store {

// Creates many pets by one command, in their order: `petstorectl pet import`.
// The command brings the script's text along. EVALSHA would leave a gap where
// Redis forgets its scripts between two commands of a pipeline: a later one
// could succeed before the earlier one is sent again.
class PetBatch {
public:
    // Redis serves nobody else while it creates these, 2 to 3 µs each.
    static constexpr std::size_t kMaxPets = 128;

    explicit PetBatch(const Schema& schema) : schema_(schema) {}

    // Refers to what `schema` owns, but not to `pets`.
    resp::Command create(const std::vector<api::NewPet>& pets) const;

    struct Created {
        std::size_t count = 0;  // the first ones
        std::string error;      // why the next one was not; empty: all were
    };
    // nullopt: not a reply to a batch of `sent` pets.
    static std::optional<Created> parse(const resp::Reply& reply,
                                        std::size_t sent);

private:
    const Schema& schema_;
};

}  // namespace petstore::store
