#pragma once

#include <CLI/CLI.hpp>

#include "../command_line/context.h"

namespace petstore::ctl {

// Defines `account …`. When one of its commands is parsed, `action` does it.
void add_account_commands(CLI::App& app, Action& action);

}  // namespace petstore::ctl
