#pragma once

#include <string>

#include "context.h"
#include "key_options.h"

namespace petstore::ctl {

// The commands that make a key: `key create`, `key import` and `key rotate`.

void create_key(Context& context, const KeyOptions& options);

// `secret` is the key, or "-" to read it from standard input; with `sha256`,
// its digest in hexadecimal, `secret` is ignored.
void import_key(Context& context, const KeyOptions& options,
                const std::string& secret, const std::string& sha256);

void rotate_key(Context& context, const std::string& id,
                const std::string& grace);

}  // namespace petstore::ctl
