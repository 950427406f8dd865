#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace petstore::ctl {

// Queries on the definitions of commands and options, for help, suggestions,
// completion and the manual page.

std::vector<const CLI::App*> commands_of(const CLI::App& app);
// By its name or an alias.
const CLI::App* find_command(const CLI::App& app, std::string_view name);

// "petstorectl key create"
std::string full_name(const CLI::App& app);

// Of `app` itself.
std::vector<const CLI::Option*> options_of(const CLI::App& app);
std::vector<const CLI::Option*> arguments_of(const CLI::App& app);

// "--label", from `app` or its parents; nullptr if there is none.
const CLI::Option* find_option(const CLI::App& app, std::string_view name);

bool takes_value(const CLI::Option& option);

// The placeholder of the option's value: "FILE", "PLAN".
std::string value_name(const CLI::Option& option);

}  // namespace petstore::ctl
