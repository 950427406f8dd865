#pragma once

#include "../command_line/context.h"
#include "key_options.h"

namespace petstore::ctl {

// The commands on a key's account: `key unban` and `key usage`.

void unban_key(Context& context, const KeyId& key);
void show_key_usage(Context& context, const KeyId& key);

}  // namespace petstore::ctl
