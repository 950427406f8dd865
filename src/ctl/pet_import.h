#pragma once

#include <string>

#include "context.h"

namespace petstore::ctl {

// Creates a pet for each line of NDJSON in the file, "-" for standard input, in
// the order of the lines. Stops at the first line that is not a pet, when Redis
// refuses one or is lost, and at a signal, and reports how far it came.
void import_pets(Context& context, const std::string& file);

}  // namespace petstore::ctl
