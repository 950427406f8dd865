#pragma once

#include <string>
#include <vector>

#include "../../store/schema.h"
#include "../exit.h"
#include "../redis/cluster_nodes.h"
#include "../redis/redis_session.h"

namespace petstore::ctl {

class Context;

// unknown: Redis forbids the command, as managed services do.
enum class Verdict { ok, warning, wrong, unknown };

// Whether `doctor --json` has a finding. Programs written for earlier versions
// do not expect those of some checks, which it therefore has only if they are a
// warning or wrong.
enum class InJson { always, if_problem };

struct Finding {
    Verdict verdict;
    std::string check;
    std::string found;
    std::string advice;
    InJson in_json = InJson::always;
};

// The advice where the verdict is unknown.
constexpr char kAskProvider[] =
    "the Redis user may not run this command; ask your provider";

const char* to_text(Verdict verdict);

// Prints a table. On a terminal that is too narrow for it, wraps the text, and
// the advice follows what was found.
void print_findings(const std::vector<Finding>& findings);

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

// Checks a Cluster and each of its servers. `which` precedes the names of
// checks. Throws Failure if the connection is lost.
std::vector<Finding> check_cluster(RedisSession& cluster,
                                   const std::string& which);

// What workers keep on a Redis.
enum class WorkerData { all, catalogue, accounts };

// Tries what workers do: the limiter's script, a write, and every command that
// their scripts call, with the rights of the user that petstorectl logs in as.
// In a Cluster, on each primary. `which` precedes the names of checks. Throws
// Failure if the connection is lost.
std::vector<Finding> check_workers(RedisSession& redis,
                                   const store::Schema& schema, WorkerData data,
                                   const std::string& which);

// Checks how close the catalogue is to its maximum size. No finding if there
// are no pets, or if their server is down or forbids the command; other checks
// report these. Throws Failure if the connection is lost.
std::vector<Finding> check_catalogue(RedisSession& redis,
                                     const store::Schema& schema);

// Lists the hosts with their versions, and checks whether their plans, and
// those in Redis, agree. Throws Failure if the connection is lost.
std::vector<Finding> check_plans(Context& context);

}  // namespace petstore::ctl
