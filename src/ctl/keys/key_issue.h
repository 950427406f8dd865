#pragma once

#include <string>

#include "../accounts/account_name.h"
#include "../command_line/context.h"
#include "key_options.h"

namespace petstore::ctl {

// The commands that create a key: `key create`, `key import` and `key rotate`.
// Also `key find`, which accepts a key like `key import`.

// In `account`, or in a new one if that is not given.
void create_key(Context& context, const KeyOptions& options,
                const NamedAccount& account);

// `secret` is the key, or "-" to read it from standard input. It is ignored if
// `sha256`, the digest of the key in hexadecimal, is given.
void import_key(Context& context, const KeyOptions& options,
                const NamedAccount& account, const std::string& secret,
                const std::string& sha256);

// Prints the id of a key. The arguments are like those of import_key().
void find_key(Context& context, const std::string& secret,
              const std::string& sha256);

void rotate_key(Context& context, const std::string& id,
                const std::string& grace);

}  // namespace petstore::ctl
