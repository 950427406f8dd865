#pragma once

#include "../../ngx_base/ngx.h"
#include "../../ngx_redis/node_settings.h"
#include "../../redis/endpoint.h"

namespace petstore::ngx {

// nullptr if no `resolver` is configured.
ngx_resolver_t* resolver_of(const ngx_http_core_loc_conf_t& core) noexcept;

// The host of a Redis URL, not yet resolved: see resolve_fixed().
ngx_redis::HostSettings host_settings(ngx_conf_t* cf,
                                      const redis::Endpoint& endpoint);

// Like proxy_pass, resolves a name once, now, unless the location has a
// `resolver`. False if that fails, which is logged.
bool resolve_fixed(ngx_conf_t* cf, const redis::Endpoint& endpoint,
                   ngx_redis::HostSettings& host);

}  // namespace petstore::ngx
