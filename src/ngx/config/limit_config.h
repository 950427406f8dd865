#pragma once

#include "config.h"

namespace petstore::ngx {

// Inherits petstore_cost, petstore_limit_dry_run, petstore_limit_headers,
// petstore_anonymous_limit and petstore_ban, and computes what requests use of
// them.
void merge_limits(const LocConf& prev, LocConf& conf, MainConf& main) noexcept;

}  // namespace petstore::ngx
