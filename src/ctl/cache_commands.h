#pragma once

#include <CLI/CLI.hpp>

#include "context.h"

namespace petstore::ctl {

// Adds `cache …`; the one that is called leaves what it does in `action`.
void add_cache_commands(CLI::App& app, Action& action);

}  // namespace petstore::ctl
