#pragma once

#include "../ngx_base/ngx.h"

namespace petstore::ngx {

// Registers the phase handler of petstore_guard.
ngx_int_t install_guard(ngx_conf_t* cf) noexcept;

// Whether petstore_status or petstore_health answers the request: these need no
// key, even where a guard is inherited.
bool is_exempt_from_guard(const ngx_http_request_t* r) noexcept;

}  // namespace petstore::ngx
