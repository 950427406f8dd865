#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// Installs a header filter and a body filter. They give nginx's own errors the
// body and headers of the service's errors: in locations of the service, and
// wherever petstore_json_errors is on.
void install_error_filter() noexcept;

}  // namespace petstore::ngx
