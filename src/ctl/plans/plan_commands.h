#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "../../store/plans/plan_listing.h"
#include "../command_line/context.h"

namespace petstore::ctl {

// Adds `plan set`, `plan list` and `plan delete`.
void add_plan_commands(CLI::App& app, Action& action);

// What is wrong with the plans in Redis and on the hosts, in sentences. Names
// may contain any text.
std::vector<std::string> plan_problems(const store::KnownPlans& plans);

}  // namespace petstore::ctl
