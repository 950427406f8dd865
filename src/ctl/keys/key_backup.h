#pragma once

#include <string>

#include "../command_line/context.h"

namespace petstore::ctl {

// `key export`: the records of all keys as NDJSON, with the SHA-256 of each key
// instead of the key.
void export_keys(Context& context);

// `key restore`: adds the keys of such a file that do not exist. "-" is
// standard input.
void restore_keys(Context& context, const std::string& file);

}  // namespace petstore::ctl
