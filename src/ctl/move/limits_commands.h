#pragma once

#include <CLI/CLI.hpp>

#include "../command_line/context.h"

namespace petstore::ctl {

// limits move|return
void add_limits_commands(CLI::App& app, Action& action);

}  // namespace petstore::ctl
