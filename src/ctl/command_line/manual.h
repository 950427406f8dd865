#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace petstore::ctl {

// The manual page petstorectl(1), generated from the definitions of all
// commands.
std::string manual_page(const CLI::App& app, const std::string& version);

}  // namespace petstore::ctl
