#pragma once

#include <string>
#include <vector>

#include "../exit.h"
#include "../redis/cluster_nodes.h"
#include "../redis/redis_session.h"
#include "finding.h"

namespace petstore::ctl {

// The check that fails for a server that cannot be queried.
constexpr char kReachable[] = "reachable";

// What to do about it. `unreachable`: if nothing replied.
std::string advice_for_failure(const Failure& failure, const char* unreachable);

// Checks whether a server may lose data, runs slowly or refuses our commands.
// `which` precedes the names of checks. `node` describes the server in its
// Cluster; nullptr for a server that must not be part of a Cluster. Throws
// Failure if the connection is lost.
std::vector<Finding> check_server(RedisSession& redis, const std::string& which,
                                  const ClusterNode* node);

}  // namespace petstore::ctl
