#pragma once

#include <string>
#include <vector>

namespace petstore::ctl {

// Examples of a command, such as "key create". Empty for groups of commands.
const std::vector<std::string>& examples_of(const std::string& command);

}  // namespace petstore::ctl
