#pragma once

#include <string>
#include <vector>

#include "../../store/plans/plan_listing.h"
#include "../../store/schema.h"

namespace petstore::ctl {

// What is wrong with the plans in Redis or on the hosts, and what to do about
// it. Names may contain any text.
struct PlanProblem {
    std::string text;
    std::string advice;
};
std::vector<PlanProblem> plan_problems(const store::KnownPlans& plans,
                                       const store::Schema& schema);

}  // namespace petstore::ctl
