#include "doctor.h"

#include <iterator>
#include <string>
#include <vector>

#include "catalogue_check.h"
#include "cluster_check.h"
#include "exit.h"
#include "output.h"
#include "server_check.h"
#include "server_connect.h"

namespace petstore::ctl {

namespace {

const char* to_text(Verdict verdict)
{
    switch (verdict) {
    case Verdict::ok:
        return "ok";
    case Verdict::warning:
        return "warning";
    case Verdict::wrong:
        return "wrong";
    case Verdict::unknown:
        return "unknown";
    }
    return "";
}

void append(std::vector<Finding> more, std::vector<Finding>& findings)
{
    findings.insert(findings.end(), std::make_move_iterator(more.begin()),
                    std::make_move_iterator(more.end()));
}

void print(const Context& context, const std::vector<Finding>& findings)
{
    if (context.json()) {
        Json array = Json::array();
        for (const Finding& finding : findings) {
            // Omitted from the JSON for compatibility: its consumers do not
            // expect this finding, and a Redis that answers has others.
            if (finding.verdict == Verdict::ok
                && finding.check.find(kReachable) != std::string::npos) {
                continue;
            }
            array.push_back({{"check", finding.check},
                             {"verdict", to_text(finding.verdict)},
                             {"found", finding.found},
                             {"advice", finding.advice}});
        }
        print_json(array);
        return;
    }
    std::vector<std::vector<std::string>> rows = {
        {"VERDICT", "CHECK", "FOUND", "ADVICE"}};
    for (const Finding& finding : findings) {
        rows.push_back({to_text(finding.verdict), finding.check, finding.found,
                        finding.advice});
    }
    print_table(rows, "VERDICT");
}

// Checks whether the options name the Redis with the limits. Adds nothing for a
// store that never had a second Redis.
void check_limits(Context& context, std::vector<Finding>& findings)
{
    try {
        context.limits_place().check(Access::read);
        if (context.limits() != nullptr) {
            findings.push_back(
                {Verdict::ok, "limits", "on the Redis of --limit-redis", ""});
        }
    } catch (const LostConnection&) {
        throw;
    } catch (const NotServing&) {
        throw;
    } catch (const Failure& failure) {
        findings.push_back(
            {Verdict::wrong, "limits", "elsewhere", failure.what()});
    }
}

// Runs a check of data. In a Cluster, the server that has them may be away,
// which other findings explain.
template <class Check>
void check_data(const char* name, Check check, std::vector<Finding>& findings)
{
    try {
        check();
    } catch (const NotServing& away) {
        findings.push_back({Verdict::wrong, name, away.what(),
                            "see the servers of the cluster"});
    }
}

// Adds the findings about a Redis. If it cannot be reached, prints the findings
// so far.
template <class Connect>
void examine(const Context& context, Connect connect, const std::string& which,
             std::vector<Finding>& findings)
{
    try {
        if (RedisSession* const redis = connect()) {
            ClusterSession* const cluster = redis->cluster();
            append(cluster != nullptr ? check_cluster(*cluster, which)
                                      : check_server(*redis, which, nullptr),
                   findings);
        }
    } catch (const Failure& failure) {
        findings.push_back({Verdict::wrong, which + kReachable, failure.what(),
                            "start Redis, or check the URL, the password and "
                            "the network"});
        print(context, findings);
        flush_output();
        throw;
    }
}

void run_checks(Context& context)
{
    std::vector<Finding> findings;
    examine(
        context, [&] { return &context.redis(); }, "", findings);
    examine(
        context, [&] { return context.limits(); }, "limit-redis ", findings);
    check_data(
        "pets",
        [&] {
            append(check_catalogue(context.redis(), context.schema()),
                   findings);
        },
        findings);
    check_data(
        "limits", [&] { check_limits(context, findings); }, findings);
    print(context, findings);
    for (const Finding& finding : findings) {
        if (finding.verdict == Verdict::wrong) {
            flush_output();
            throw Failure("this Redis needs configuration changes (see above)");
        }
    }
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action)
{
    app.add_subcommand("doctor", "Check Redis and report what to change")
        ->callback([&action] { action = run_checks; });
}

}  // namespace petstore::ctl
