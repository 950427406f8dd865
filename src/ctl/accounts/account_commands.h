#pragma once

#include <string>

#include "../command_line/context.h"

namespace petstore::ctl {

// The commands on a key's account: `key unban` and `key usage`.

void unban_account(Context& context, const std::string& id);
void show_usage(Context& context, const std::string& id);

}  // namespace petstore::ctl
