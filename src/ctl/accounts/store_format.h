#pragma once

#include "../../store/schema.h"
#include "../redis/redis_session.h"

namespace petstore::ctl {

// The value of <prefix>:limits: a fence. Versions that only know format 1 take
// its first word for a sign that the limits are on another Redis, create no
// account there, and their petstorectl stops.
inline constexpr std::string_view kFenceUpgrading = "elsewhere-upgrading";
inline constexpr std::string_view kFence = "elsewhere-format-2";

// The value of the catalogue's last id, see create_pets.lua.
inline constexpr std::string_view kPetFence = "format-2";

// Which format the data of one Redis have.
enum class StoreFormat {
    one,        // `petstorectl upgrade` converts it
    upgrading,  // that was interrupted, or is running
    two,        // or no data: format 2 from the first write on
    unknown,    // of a later version, or the fence is damaged
};

// Throw Failure.
StoreFormat format_of(RedisSession& redis, const store::Schema& schema);

// What to do about an unknown one.
std::string unknown_format_advice(const store::Schema& schema);

// Writes the fence, unless there is one.
void fence_new_store(RedisSession& redis, const store::Schema& schema);

}  // namespace petstore::ctl
