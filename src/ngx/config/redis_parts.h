#pragma once

#include <string>

#include "../../redis/endpoint.h"
#include "config.h"

// The parts of what a worker must know of a Redis: its host, login and TLS.
// Functions that take `cf` and return false have logged why.
namespace petstore::ngx {

// nullptr if no `resolver` is configured.
ngx_resolver_t* resolver_of(const ngx_http_core_loc_conf_t& core) noexcept;

// The host of a Redis URL, not yet resolved: see resolve_fixed().
ngx_redis::HostSettings host_settings(ngx_conf_t* cf,
                                      const redis::Endpoint& endpoint);

// Like proxy_pass, resolves a name once, now, unless the location has a
// `resolver`.
bool resolve_fixed(ngx_conf_t* cf, const redis::Endpoint& endpoint,
                   ngx_redis::HostSettings& host);

// With whose rights a connection works: those of petstore_redis_user, where the
// URL has none, or those of petstore_admin_redis_user, which replace the URL's.
enum class Rights { worker, admin };

// Completes the credentials of an endpoint.
bool choose_login(ngx_conf_t* cf, const LocConf& conf, Rights rights,
                  redis::Endpoint& endpoint);

// Whether this nginx is built with SSL.
bool tls_available() noexcept;

// Returns the settings without a context. `host` is from the URL.
ngx_redis::TlsSettings tls_settings(const LocConf& conf,
                                    const std::string& host);

// Loads the files that `tls`, made from `conf`, names. Errors are logged at the
// directive that names the file.
bool create_tls_context(ngx_conf_t* cf, const LocConf& conf,
                        ngx_redis::TlsSettings& tls);

}  // namespace petstore::ngx
