#pragma once

#include <string>

#include "context.h"

namespace petstore::ctl {

// Writes all pets as NDJSON, ids ascending, to the file, "-" for standard
// output.
void export_pets(Context& context, const std::string& file);

}  // namespace petstore::ctl
