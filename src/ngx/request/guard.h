#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// Registers the phase handler of petstore_guard.
ngx_int_t install_guard(ngx_conf_t* cf) noexcept;

// Whether the request is in a location with a guard. petstore_status and
// petstore_health need no key, even where a guard is inherited.
bool is_in_guarded_location(ngx_http_request_t* r) noexcept;

}  // namespace petstore::ngx
