#pragma once

#include <CLI/CLI.hpp>

#include "../command_line/context.h"

namespace petstore::ctl {

// Adds `move`, which moves the whole store to another Redis. The parsed options
// go to `options`.
void add_move_command(CLI::App& app, GlobalOptions& options, Action& action);

}  // namespace petstore::ctl
