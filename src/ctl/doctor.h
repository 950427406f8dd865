#pragma once

#include <CLI/CLI.hpp>

#include "context.h"

namespace petstore::ctl {

// Adds `doctor`, which looks for what would make Redis lose data, run slowly or
// refuse our commands.
void add_doctor_command(CLI::App& app, Action& action);

}  // namespace petstore::ctl
