#pragma once

#include <string>
#include <vector>

#include "../redis/redis_session.h"
#include "finding.h"

namespace petstore::ctl {

// Checks a Cluster and each of its servers. `which` precedes the names of
// checks. Throws Failure if the connection is lost.
std::vector<Finding> check_cluster(RedisSession& cluster,
                                   const std::string& which);

}  // namespace petstore::ctl
