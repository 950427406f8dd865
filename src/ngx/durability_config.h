#pragma once

#include "config.h"

namespace petstore::ngx {

void merge_durability(const LocConf& prev, LocConf& conf);

// Chooses the connection for the creates of a location, after its storage.
// Throws std::bad_alloc.
void choose_durable(MainConf& main, LocConf& conf);

}  // namespace petstore::ngx
