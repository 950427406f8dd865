#pragma once

#include <string_view>

#include "../../redis/link.h"
#include "../damage.h"
#include "../failure.h"
#include "pet_commands.h"
#include "version.h"

namespace petstore::store {

// The link to the catalogue, its commands, and the log for damaged data. All
// borrowed.
struct PetSource {
    redis::Link& link;
    const PetCommands& commands;
    DamageLog& log;

    const Schema& schema() const noexcept { return commands.schema(); }

    // Each of these logs the damage and returns the client's error.
    Failure damaged(std::string_view redis_key) const noexcept
    {
        log.damaged(redis_key);
        return {damage_error()};
    }
    Failure damaged_bucket(std::int64_t number) const
    {
        return damaged(schema().bucket(number));
    }
    Failure damaged(const Version& version) const
    {
        return damaged(version.damage() == Version::Damage::changes
                           ? schema().changes()
                           : schema().pet_count());
    }
};

}  // namespace petstore::store
