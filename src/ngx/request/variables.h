#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// Adds the $petstore_… variables. Call before the configuration is parsed.
ngx_int_t add_variables(ngx_conf_t* cf) noexcept;

}  // namespace petstore::ngx
