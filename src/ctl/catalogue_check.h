#pragma once

#include <vector>

#include "../store/schema.h"
#include "server_check.h"

namespace petstore::ctl {

// How close the catalogue is to its end. No finding if there are no pets, or
// they cannot be asked for: other checks say why. Throws Failure if the
// connection is lost.
std::vector<Finding> check_catalogue(RedisSession& redis,
                                     const store::Schema& schema);

}  // namespace petstore::ctl
