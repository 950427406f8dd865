#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// Registers the handlers and the filter of petstore_cors. Call before
// install_error_filter(): filters run in reverse order, and this one must see
// which errors were replaced.
ngx_int_t install_cors(ngx_conf_t* cf) noexcept;

}  // namespace petstore::ngx
