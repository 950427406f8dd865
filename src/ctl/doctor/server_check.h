#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "../redis/cluster_nodes.h"
#include "../redis/redis_session.h"

namespace petstore::ctl {

// unknown: Redis forbids the command, as managed services do.
enum class Verdict { ok, warning, wrong, unknown };

struct Finding {
    Verdict verdict;
    std::string check;
    std::string found;
    std::string advice;
    // `doctor --json` has it only if it is a warning or wrong: programs written
    // for earlier versions do not expect it.
    bool problems_only = false;
};

// The check that fails for a server that cannot be queried.
constexpr char kReachable[] = "reachable";

// The "name:value" lines of INFO and CLUSTER INFO.
using Info = std::map<std::string, std::string>;
Info parse_info(std::string_view text);

// Checks whether a server may lose data, runs slowly or refuses our commands.
// `which` precedes the names of checks. `node` describes the server in its
// Cluster; nullptr for a server that must not be part of a Cluster. Throws
// Failure if the connection is lost.
std::vector<Finding> check_server(RedisSession& redis, const std::string& which,
                                  const ClusterNode* node);

}  // namespace petstore::ctl
