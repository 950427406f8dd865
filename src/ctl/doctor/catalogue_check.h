#pragma once

#include <vector>

#include "../../store/schema.h"
#include "../redis/redis_session.h"
#include "finding.h"

namespace petstore::ctl {

// Checks how close the catalogue is to its maximum size. No finding if there
// are no pets, or if their server is down or forbids the command; other checks
// report these. Throws Failure if the connection is lost.
std::vector<Finding> check_catalogue(RedisSession& redis,
                                     const store::Schema& schema);

}  // namespace petstore::ctl
