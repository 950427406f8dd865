#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cluster_nodes.h"
#include "redis_session.h"

namespace petstore::ctl {

// unknown: Redis forbids the question, as managed services do.
enum class Verdict { ok, warning, wrong, unknown };

struct Finding {
    Verdict verdict;
    std::string check;
    std::string found;
    std::string advice;
};

// The check that a server which cannot be asked fails.
constexpr char kReachable[] = "reachable";

// The "name:value" lines of INFO and CLUSTER INFO.
using Info = std::map<std::string, std::string>;
Info parse_info(std::string_view text);

// Whether a server may lose data, runs slowly or refuses our commands. `which`
// precedes the names of checks. `node`: how its Cluster knows it; nullptr for a
// server that must not be one of a Cluster. Throws Failure if the connection is
// lost.
std::vector<Finding> check_server(RedisSession& redis, const std::string& which,
                                  const ClusterNode* node);

}  // namespace petstore::ctl
