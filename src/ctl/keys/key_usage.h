#pragma once

#include <string>

#include "../command_line/context.h"

namespace petstore::ctl {

// The commands on a key's account: `key unban` and `key usage`. `id` is that of
// the key.

void unban_key(Context& context, const std::string& id);
void show_key_usage(Context& context, const std::string& id);

}  // namespace petstore::ctl
