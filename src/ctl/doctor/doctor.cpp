#include <iterator>
#include <string>
#include <vector>

#include "../accounts/store_format.h"
#include "../command_line/commands.h"
#include "../exit.h"
#include "../redis/redis_error.h"
#include "../redis/server_connect.h"
#include "../terminal/output.h"
#include "checks.h"

namespace petstore::ctl {

namespace {

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
            if (finding.in_json == InJson::if_problem
                && (finding.verdict == Verdict::ok
                    || finding.verdict == Verdict::unknown)) {
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
    print_findings(findings);
}

// Whether other checks can be made of the store's data.
bool check_format(RedisSession& redis, const Context& context,
                  const std::string& which, std::vector<Finding>& findings)
{
    constexpr char kFormat[] = "format";
    constexpr char kAdvice[] =
        "workers answer 503: stop nginx on all hosts and run petstorectl upgrade, see docs/upgrading.md";
    try {
        switch (format_of(redis, context.schema())) {
        case StoreFormat::one:
            findings.push_back({Verdict::wrong, which + kFormat, "1", kAdvice});
            return false;
        case StoreFormat::upgrading:
            findings.push_back({Verdict::wrong, which + kFormat,
                                "partly upgraded to 2", kAdvice});
            return false;
        case StoreFormat::unknown:
            findings.push_back({Verdict::wrong, which + kFormat,
                                "not known to this version",
                                unknown_format_advice(context.schema())});
            return false;
        case StoreFormat::two:
            break;
        }
    } catch (const RedisError& refusal) {
        // Workers' users may not read this.
        findings.push_back({Verdict::unknown, which + kFormat, "",
                            refusal.what(), InJson::if_problem});
    } catch (const Failure& failure) {
        if (is_away(failure)) {
            throw;
        }
        // The key is damaged, or this is one node of a Cluster.
        findings.push_back(
            {Verdict::wrong, which + kFormat, "unknown", failure.what()});
        return false;
    }
    return true;
}

// Checks whether the options name the Redis with the limits. Adds nothing for a
// store that never had a second Redis.
void check_limits(Context& context, std::vector<Finding>& findings)
{
    try {
        context.limits_place().check(Access::examine);
        if (context.limit_redis() != nullptr) {
            findings.push_back(
                {Verdict::ok, "limits", "on the Redis of --limit-redis", ""});
        }
    } catch (const RedisError& refusal) {
        // Workers' users may not read all of this.
        findings.push_back({Verdict::unknown, "limits", "", refusal.what(),
                            InJson::if_problem});
    } catch (const Failure& failure) {
        if (is_away(failure)) {
            throw;
        }
        findings.push_back(
            {Verdict::wrong, "limits", "elsewhere", failure.what()});
    }
}

// Whether petstorectl move has moved the store away, and so frozen its pets.
// The check of the limits says so.
bool was_moved(Context& context)
{
    try {
        return LimitsMarker::read(context.redis(), context.schema()).place
               == LimitsMarker::Place::moved_from;
    } catch (const Failure& failure) {
        if (is_away(failure)) {
            throw;
        }
        return false;
    }
}

// Runs a check of data. In a Cluster, the server that has them may be away,
// which other findings explain.
template <class Check>
void check_data(const std::string& name, Check check,
                std::vector<Finding>& findings)
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
             WorkerData data, std::vector<Finding>& findings)
{
    try {
        if (RedisSession* const redis = connect()) {
            append(redis->is_cluster() ? check_cluster(*redis, which)
                                       : check_server(*redis, which, nullptr),
                   findings);
            check_data(
                which + "workers",
                [&] {
                    append(check_workers(*redis, context.schema(), data, which),
                           findings);
                },
                findings);
        }
    } catch (const Failure& failure) {
        findings.push_back(
            {Verdict::wrong, which + kReachable, failure.what(),
             advice_for_failure(
                 failure,
                 "start Redis, or check the URL, the password and the network")});
        print(context, findings);
        flush_output();
        throw;
    }
}

void check_store(Context& context, std::vector<Finding>& findings)
{
    bool readable = check_format(context.redis(), context, "", findings);
    if (RedisSession* const limit_redis = context.limit_redis()) {
        readable &=
            check_format(*limit_redis, context, "limit-redis ", findings);
    }
    if (!readable) {
        return;
    }
    check_data(
        "pets",
        [&] {
            if (!was_moved(context)) {
                append(check_catalogue(context.redis(), context.schema()),
                       findings);
            }
        },
        findings);
    check_data(
        "limits", [&] { check_limits(context, findings); }, findings);
    check_data(
        "plans", [&] { append(check_plans(context), findings); }, findings);
}

void run_checks(Context& context)
{
    context.accept_cluster_nodes();
    context.accept_format_1();
    const bool one = !context.has_limit_redis();
    std::vector<Finding> findings;
    examine(
        context, [&] { return &context.redis(); }, "",
        one ? WorkerData::all : WorkerData::catalogue, findings);
    examine(
        context, [&] { return context.limit_redis(); }, "limit-redis ",
        WorkerData::accounts, findings);
    check_data(
        "data", [&] { check_store(context, findings); }, findings);
    print(context, findings);
    for (const Finding& finding : findings) {
        if (finding.verdict == Verdict::wrong) {
            flush_output();
            throw Failure("something is wrong (see above)");
        }
    }
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action)
{
    add_command(app, "doctor", "Check Redis and report what to change", action,
                run_checks);
}

}  // namespace petstore::ctl
