#pragma once

#include <CLI/CLI.hpp>

#include "../command_line/context.h"

namespace petstore::ctl {

// Adds `doctor`, which checks whether Redis may lose data, runs slowly or
// refuses our commands.
void add_doctor_command(CLI::App& app, Action& action);

}  // namespace petstore::ctl
