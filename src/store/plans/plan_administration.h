#pragma once

#include <string>

#include "../../api/plan.h"
#include "../store_links.h"
#include "../task.h"
#include "plan_listing.h"

// Lists and changes the plans in Redis. A change takes effect on all workers
// within two seconds; a plan is one field, so none is ever half written.

namespace petstore::store {

// All plans, from all sources.
Task<KnownPlans> list_plans(StoreLinks links);

// Adds or replaces a plan in Redis. Refuses one too many.
Task<> set_plan(StoreLinks links, std::string name, api::Limits limits);

// Removes a plan from Redis. Refuses one that is not there, and one that a key
// or an account has, unless another source defines it.
Task<> remove_plan(StoreLinks links, std::string name);

}  // namespace petstore::store
