#pragma once

#include <CLI/CLI.hpp>

#include "../command_line/context.h"

namespace petstore::ctl {

// Adds `upgrade`, which converts a store to this version's format.
void add_upgrade_command(CLI::App& app, Action& action);

}  // namespace petstore::ctl
