#include "checks.h"

#include <set>
#include <string>

#include "../command_line/context.h"
#include "../exit.h"
#include "../plans/plan_problems.h"
#include "../redis/server_connect.h"
#include "../terminal/output.h"

namespace petstore::ctl {

namespace {

constexpr char kPlans[] = "plans";
constexpr char kHosts[] = "hosts";

std::vector<Finding> findings_about(const store::KnownPlans& plans,
                                    const store::Schema& schema)
{
    std::vector<Finding> findings;
    std::set<std::string> versions;
    for (const store::HostPlans& host : plans.hosts()) {
        versions.insert(host.version);
        findings.push_back(
            {Verdict::ok, kHosts,
             host.name + " (" + host.configuration + "): " + host.version, ""});
    }
    if (versions.size() > 1) {
        findings.push_back(
            {Verdict::warning, kHosts,
             count_text(versions.size(), "version") + " of the module",
             "update all hosts"});
    }
    for (const PlanProblem& problem : plan_problems(plans, schema)) {
        findings.push_back(
            {Verdict::warning, kPlans, problem.text, problem.advice});
    }
    for (const std::string& overridden : plans.overridden()) {
        findings.push_back(
            {Verdict::warning, kPlans,
             "Redis overrides nginx.conf: " + overridden,
             "remove it from nginx.conf, or run petstorectl plan delete"});
    }
    return findings;
}

}  // namespace

std::vector<Finding> check_plans(Context& context)
{
    try {
        return findings_about(context.known_plans(), context.schema());
    } catch (const Failure& failure) {
        if (is_away(failure)) {
            throw;
        }
        // This user may not read them, or this is one node of a Cluster.
        return {
            {Verdict::unknown, kPlans, "", failure.what(), InJson::if_problem}};
    }
}

}  // namespace petstore::ctl
