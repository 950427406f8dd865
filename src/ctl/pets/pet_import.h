#pragma once

#include <string>

#include "../command_line/context.h"

namespace petstore::ctl {

// Creates a pet for each NDJSON line of `file` ("-" for standard input), in
// order. Accepts what createPet accepts, and "id", which export writes: ignores
// it, or with `keep_ids`, into an empty catalogue, gives the pet this id. Stops
// at the first invalid line, at a signal, and if Redis refuses a pet or the
// connection breaks. Reports how many pets were created.
void import_pets(Context& context, const std::string& file, bool keep_ids);

}  // namespace petstore::ctl
