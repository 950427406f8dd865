#pragma once

#include <CLI/CLI.hpp>

#include "../command_line/context.h"

namespace petstore::ctl {

// `usage`: what accounts have used, by day or month.
void add_usage_command(CLI::App& app, Action& action);

}  // namespace petstore::ctl
