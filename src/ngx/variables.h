#pragma once

#include "ngx.h"

namespace petstore::ngx {

// Adds the $petstore_… variables; called before the configuration is read.
ngx_int_t add_variables(ngx_conf_t* cf) noexcept;

}  // namespace petstore::ngx
