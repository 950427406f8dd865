#pragma once

#include "config.h"

namespace petstore::ngx {

void merge_durability(const LocConf& prev, LocConf& conf);

// Chooses the connection for the creates of a location. Call after
// choose_storage(). False if its Redis does not support waiting, which is
// logged. Throws std::bad_alloc.
bool choose_durable(ngx_conf_t* cf, MainConf& main, LocConf& conf);

}  // namespace petstore::ngx
