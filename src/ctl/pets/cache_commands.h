#pragma once

#include <CLI/CLI.hpp>

#include "../command_line/context.h"

namespace petstore::ctl {

// Adds `cache …`. The parsed command sets `action`.
void add_cache_commands(CLI::App& app, Action& action);

}  // namespace petstore::ctl
