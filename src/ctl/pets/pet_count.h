#pragma once

#include "../../store/pets/record.h"
#include "../../store/schema.h"
#include "../redis/redis_session.h"

namespace petstore::ctl {

// The number of pets; 0 for an empty catalogue. Throws Failure if a Redis key
// of the catalogue's version is damaged or lost.
store::Position count_pets(RedisSession& redis, const store::Schema& schema);

Failure damaged_key(const std::string& key);

}  // namespace petstore::ctl
