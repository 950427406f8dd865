#pragma once

#include "../ngx_base/ngx.h"

namespace petstore::ngx {

// Registers what petstore_cors needs. Call before install_error_filter():
// filters run from the last to the first, and this one must see which errors
// were replaced.
ngx_int_t install_cors(ngx_conf_t* cf) noexcept;

}  // namespace petstore::ngx
