#pragma once

#include <string>
#include <vector>

#include "../../store/plans/plan_listing.h"

namespace petstore::ctl {

// What is wrong with the plans in Redis and on the hosts, in sentences. Names
// may contain any text.
std::vector<std::string> plan_problems(const store::KnownPlans& plans);

}  // namespace petstore::ctl
