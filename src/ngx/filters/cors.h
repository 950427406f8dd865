#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// Installs the filter of petstore_cors. Call before install_error_filter():
// filters run in reverse order, and this one must see which errors were
// replaced.
void install_cors_filter() noexcept;

// Registers the handler of preflights.
ngx_int_t answer_preflights(ngx_conf_t* cf) noexcept;

}  // namespace petstore::ngx
