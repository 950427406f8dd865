#pragma once

#include <CLI/CLI.hpp>

namespace petstore::ctl {

// `help [COMMAND…]`, `version` and `manual`.
void add_help_commands(CLI::App& app, const std::string& version);

// Parses the command line. Throws UsageError, whose message never repeats an
// argument that could be an API key, and CLI::Success after printing help or
// the version.
void parse(CLI::App& app, int argc, char** argv);

}  // namespace petstore::ctl
