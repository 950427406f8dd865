#pragma once

#include "config.h"

namespace petstore::ngx {

// Merges the Redis settings of `prev` and the defaults into `conf`.
void merge_redis(const LocConf& prev, LocConf& conf);

// Chooses the storage of a location that uses one, creating it and its nodes if
// no other location has the same settings. False if that is impossible: the
// error is logged at the directive that caused it, or for defaults at
// `petstore` or `petstore_guard`. Throws std::bad_alloc.
bool choose_storage(ngx_conf_t* cf, MainConf& main, LocConf& conf);

// Chooses the connections of an admin API, after its storage. False likewise.
bool choose_admin(ngx_conf_t* cf, MainConf& main, LocConf& conf);

}  // namespace petstore::ngx
