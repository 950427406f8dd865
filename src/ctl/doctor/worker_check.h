#pragma once

#include <string>
#include <vector>

#include "../../store/schema.h"
#include "../redis/redis_session.h"
#include "finding.h"

namespace petstore::ctl {

// What workers keep on a Redis.
enum class WorkerData { all, catalogue, accounts };

// Tries what workers do: the limiter's script, a write, and every command that
// their scripts call, with the rights of the user that petstorectl logs in as.
// In a Cluster, on each primary. `which` precedes the names of checks. Throws
// Failure if the connection is lost.
std::vector<Finding> check_workers(RedisSession& redis,
                                   const store::Schema& schema, WorkerData data,
                                   const std::string& which);

}  // namespace petstore::ctl
