#pragma once

#include "../../redis/endpoint.h"
#include "config.h"

namespace petstore::ngx {

// With whose rights a connection works: those of petstore_redis_user, where the
// URL has none, or those of petstore_admin_redis_user, which replace the URL's.
enum class Rights { worker, admin };

// Completes the credentials of an endpoint. False if that is impossible, which
// is logged.
bool choose_login(ngx_conf_t* cf, const LocConf& conf, Rights rights,
                  redis::Endpoint& endpoint);

}  // namespace petstore::ngx
