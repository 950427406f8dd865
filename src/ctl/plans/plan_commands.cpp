#include "plan_problems.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "../../api/administration_json.h"
#include "../../store/plans/plan_administration.h"
#include "../accounts/plan_options.h"
#include "../command_line/commands.h"
#include "../command_line/values.h"
#include "../exit.h"
#include "../terminal/output.h"

namespace petstore::ctl {

namespace {

struct PlanName {
    std::string name;

    void add_to(CLI::App& command)
    {
        command.add_option("NAME", name, "Name of the plan")->required();
    }
};

struct NewPlan : PlanName {
    std::string per_minute;
    std::string per_day;
    std::string per_month;  // empty: none

    void add_to(CLI::App& command)
    {
        PlanName::add_to(command);
        add_value(command, "--per-minute", "N", per_minute, "Limit per minute")
            ->required();
        add_value(command, "--per-day", "N", per_day, "Limit per day")
            ->required();
        refuse_empty(
            add_value(command, "--per-month", "N", per_month,
                      "Limit per calendar month in UTC; none if omitted"));
    }
};

api::Limits limits_of(const NewPlan& options)
{
    if (!api::may_name_plan(options.name)) {
        throw UsageError(
            "NAME must be 1 to 32 lower-case letters, digits, \"_\" or \"-\", and none of none, all and unknown");
    }
    const auto number = [](const char* option, const std::string& value) {
        return number_option(option, value, api::kMaxLimit);
    };
    return {number("--per-minute", options.per_minute),
            number("--per-day", options.per_day),
            options.per_month.empty()
                ? 0
                : number("--per-month", options.per_month)};
}

// Only the plan enterprise, if nothing defines it, has no limits.
std::string table_limit(std::int64_t limit)
{
    return limit == 0 ? "-" : std::to_string(limit);
}

Json json_of(std::string_view name, const store::KnownPlan& plan)
{
    return Json::parse(
        api::plan_json(name, plan.limits, to_string(plan.source)));
}

void set_plan(Context& context, const NewPlan& options)
{
    const api::Limits limits = limits_of(options);
    const auto links = context.links(Access::change);
    context.await(store::set_plan(links, options.name, limits));
    warn_of_limits(limits);
    report(context.json(),
           json_of(options.name, {limits, store::PlanSource::redis}),
           "Plan " + options.name + " is set.");
}

void list_plans(Context& context)
{
    LimitsMarker::read(context.redis(), context.schema()).refuse_moved();
    const auto plans = context.known_plans();
    for (const auto& problem : plan_problems(plans, context.schema())) {
        warn(problem.text);
    }
    if (context.json()) {
        Json array = Json::array();
        for (const auto& [name, plan] : plans.plans()) {
            array.push_back(json_of(name, plan));
        }
        return print_json(array);
    }
    std::vector<std::vector<std::string>> rows = {
        {"NAME", "MINUTE", "DAY", "MONTH", "SOURCE"}};
    for (const auto& [name, plan] : plans.plans()) {
        rows.push_back({name, table_limit(plan.limits.minute),
                        table_limit(plan.limits.day),
                        table_limit(plan.limits.month),
                        std::string(to_string(plan.source))});
    }
    print_table(rows);
}

void delete_plan(Context& context, const PlanName& plan)
{
    const std::string& name = plan.name;
    const auto links = context.links(Access::change);
    context.await(store::remove_plan(links, name));
    report(context.json(), {{"name", name}, {"deleted", true}},
           "Plan " + name + " is deleted from Redis.");
}

}  // namespace

std::vector<PlanProblem> plan_problems(const store::KnownPlans& plans,
                                       const store::Schema& schema)
{
    std::vector<PlanProblem> problems;
    if (plans.hosts_unread()) {
        problems.push_back(
            {"plans that only nginx.conf defines are missing, because the server of the cluster that has them is away",
             "see the servers of the cluster"});
    }
    if (plans.stored().all_damaged) {
        problems.push_back(
            {"the plans in Redis are damaged, and none of them counts",
             "delete the Redis key " + schema.plans()
                 + ", then set each plan again: petstorectl plan set"});
    }
    for (const std::string& name : plans.stored().damaged) {
        problems.push_back(
            {"the plan \"" + name
                 + "\" in Redis is damaged, and counts as absent",
             api::may_name_plan(name)
                 ? "set it again: petstorectl plan set"
                 : "no plan can have this name: petstorectl plan delete"});
    }
    for (const std::string& difference : plans.differences()) {
        problems.push_back(
            {"hosts define a plan differently: " + difference,
             "define it once for all hosts: petstorectl plan set"});
    }
    return problems;
}

void add_plan_commands(CLI::App& app, Action& action)
{
    CLI::App& plan = add_group(app, "plan", "Plans in Redis, for all hosts");
    add_command(plan, "set", "Add or replace a plan", action, set_plan);
    add_command(plan, "list",
                "List all plans: in Redis, of nginx.conf and built-in", action,
                list_plans)
        .alias("ls");
    add_command(plan, "delete", "Delete a plan from Redis", action,
                delete_plan);
}

}  // namespace petstore::ctl
