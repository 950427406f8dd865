#pragma once

#include <CLI/CLI.hpp>

namespace petstore::ctl {

// `help [COMMAND…]` and `version`.
void add_help_commands(CLI::App& app, const char* version);

// Reads the command line. Throws UsageError, with a message that repeats no
// argument that could be an API key, and CLI::Success where the command line is
// done with: help and version are printed.
void parse(CLI::App& app, int argc, char** argv);

}  // namespace petstore::ctl
