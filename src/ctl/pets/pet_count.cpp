#include "pet_count.h"

#include "../../store/pets/pet_commands.h"
#include "../../store/pets/version.h"

namespace petstore::ctl {

// The first pet is read before the counters, so a pet without a count means
// damage, not a pet created in between.
store::Position count_pets(RedisSession& redis, const store::Schema& schema)
{
    const store::PetCommands commands(schema);
    const bool has_pets =
        !redis.call_naming_key(commands.get(1)).is(redis::Type::nil);
    // For its type, which MGET ignores.
    redis.call_naming_key(commands.count());
    const redis::Reply& numbers = redis.call(commands.version());
    const auto version = numbers.size() == 2
                             ? store::Version::parse(numbers[0], numbers[1])
                             : store::Version{-1, -1};
    using Damage = store::Version::Damage;
    if (version.damage() == Damage::changes) {
        throw damaged_key(schema.changes());
    }
    if (version.damage() == Damage::count || (has_pets && version.is_empty())) {
        throw damaged_key(schema.pet_count());
    }
    return version.count;
}

Failure damaged_key(const std::string& key)
{
    return Failure("the Redis key " + key + " is damaged");
}

}  // namespace petstore::ctl
