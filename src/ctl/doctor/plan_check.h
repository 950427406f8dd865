#pragma once

#include <vector>

#include "../command_line/context.h"
#include "finding.h"

namespace petstore::ctl {

// Lists the hosts with their versions, and checks whether their plans, and
// those in Redis, agree. Throws Failure if the connection is lost.
std::vector<Finding> check_plans(Context& context);

}  // namespace petstore::ctl
