#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// Logs the module's version, once per start and reload, if the configuration
// uses the module.
ngx_int_t log_start(ngx_cycle_t* cycle) noexcept;

}  // namespace petstore::ngx
