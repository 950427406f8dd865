#pragma once

#include "../ngx_base/ngx.h"

namespace petstore::ngx {

// Registers the phase handler of petstore_guard.
ngx_int_t install_guard(ngx_conf_t* cf) noexcept;

}  // namespace petstore::ngx
