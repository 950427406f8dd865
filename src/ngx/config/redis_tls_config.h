#pragma once

#include <string>

#include "config.h"

namespace petstore::ngx {

// Whether this nginx is built with SSL.
bool tls_available() noexcept;

// Merges the TLS settings of `prev` and the defaults into `conf`.
void merge_tls(const LocConf& prev, LocConf& conf) noexcept;

// Returns the settings without a context. `host` is from the URL.
ngx_redis::TlsSettings tls_settings(const LocConf& conf,
                                    const std::string& host);

// Loads the files that `tls`, made from `conf`, names. False if that is
// impossible: the error is logged at the directive that names the file.
bool create_tls_context(ngx_conf_t* cf, const LocConf& conf,
                        ngx_redis::TlsSettings& tls);

}  // namespace petstore::ngx
