#pragma once

#include <CLI/CLI.hpp>

#include "../command_line/context.h"

namespace petstore::ctl {

// Adds `pet …`. The parsed command sets `action`.
void add_pet_commands(CLI::App& app, Action& action);

}  // namespace petstore::ctl
