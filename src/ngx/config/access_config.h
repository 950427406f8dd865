#pragma once

#include "config.h"

namespace petstore::ngx {

// Inherits petstore_realm, petstore_key_header, petstore_scope,
// petstore_allow_plans and petstore_route, and computes what requests use of
// them. Throws std::bad_alloc.
void merge_access(const LocConf& prev, LocConf& conf, MainConf& main);

}  // namespace petstore::ngx
