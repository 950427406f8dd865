#pragma once

#include <string>

#include "store.h"

namespace petstore::e2e {

// Runs petstorectl on a terminal of 80 columns and types `input`. The
// terminal's output combines both streams and the echoed input.
Output on_terminal(const std::string& redis, const std::string& arguments,
                   const std::string& input = "\n", const Words& env = {},
                   int columns = 80);

// Without the colours that petstorectl uses.
std::string without_colours(const std::string& text);

}  // namespace petstore::e2e
