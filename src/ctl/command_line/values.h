#pragma once

#include <CLI/CLI.hpp>

namespace petstore::ctl {

// Refuses an empty value, such as that of a variable that a script has not set,
// which would otherwise count as if the option was not given. Returns `option`.
CLI::Option* refuse_empty(CLI::Option* option);

// Refuses what cannot be an external id. Returns `option`.
CLI::Option* check_external_id(CLI::Option* option);

}  // namespace petstore::ctl
