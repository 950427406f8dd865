#pragma once

#include <string>

#include "../command_line/context.h"

namespace petstore::ctl {

// Writes all pets to `file` ("-" for standard output) as NDJSON, in ascending
// id order.
void export_pets(Context& context, const std::string& file);

}  // namespace petstore::ctl
