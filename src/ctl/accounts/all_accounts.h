#pragma once

#include <functional>
#include <string>
#include <vector>

#include "../../api/usage.h"
#include "../command_line/context.h"

namespace petstore::ctl {

enum class ShowProgress { no, yes };

// Reads all accounts, deleted ones included, oldest first, and what they have
// used. Can be interrupted. Returns what is wrong with damaged accounts, which
// it leaves out. Throws Failure.
std::vector<std::string>
each_account(Context& context, const store::StoreLinks& links,
             const api::UsagePeriod& period, ShowProgress show_progress,
             const std::function<void(const api::AccountUsage&)>& use);

// Throws Failure if there are any, once all others are printed.
void fail_if_damaged(const std::vector<std::string>& damaged);

}  // namespace petstore::ctl
