#pragma once

#include <CLI/CLI.hpp>

namespace petstore::ctl {

// `help [COMMAND…]`, `version` and `manual`. `json` is the option --json; it
// must live until the command line has been parsed.
void add_help_commands(CLI::App& app, const std::string& version,
                       const bool& json);

// Parses the command line. Throws UsageError, whose message never repeats an
// argument that is unknown and so could be an API key, and CLI::Success after
// printing help or the version.
void parse(CLI::App& app, int argc, char** argv);

}  // namespace petstore::ctl
