#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

namespace petstore::ctl {

// Adds an option that takes a value, which help calls `type`.
template <typename T>
CLI::Option* add_value(CLI::App& command, const char* name, const char* type,
                       T& value, const char* help)
{
    return command.add_option(name, value, help)->type_name(type);
}

// Refuses an empty value, such as that of a variable that a script has not set,
// which would otherwise count as if the option was not given. Returns `option`.
CLI::Option* refuse_empty(CLI::Option* option);

// Refuses what cannot be an external id. Returns `option`.
CLI::Option* check_external_id(CLI::Option* option);

// A number from 1 to `most`. Throws UsageError, whose message ends with
// `others`.
std::int64_t number_option(const char* name, const std::string& value,
                           std::int64_t most, const char* others = "");

}  // namespace petstore::ctl
