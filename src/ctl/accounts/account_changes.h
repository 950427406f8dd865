#pragma once

#include <string>

#include "../command_line/context.h"
#include "account_options.h"

namespace petstore::ctl {

// The commands that change accounts. `id` names one.

void create_account(Context& context, const AccountOptions& options);

// Names the account's keys that the change does not reach.
void set_account(Context& context, const std::string& id,
                 const AccountOptions& options);

void set_account_disabled(Context& context, const std::string& id,
                          bool disabled);

// Asks for confirmation on a terminal, unless `sure`.
void delete_account(Context& context, const std::string& id, bool sure);

void unban_account(Context& context, const std::string& id);
void reset_account(Context& context, const std::string& id);

}  // namespace petstore::ctl
