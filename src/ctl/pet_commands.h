#pragma once

#include <CLI/CLI.hpp>

#include "context.h"

namespace petstore::ctl {

// Adds `pet …`; the one that is called leaves what it does in `action`.
void add_pet_commands(CLI::App& app, Action& action);

}  // namespace petstore::ctl
