#pragma once

#include <string>

#include "context.h"

namespace petstore::ctl {

// Creates a pet for each line of NDJSON in the file, "-" for standard input.
// Stops at the first line that is no pet; those before it stay created.
void import_pets(Context& context, const std::string& file);

}  // namespace petstore::ctl
