#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// The content handler of petstore_status: the metrics of this host.
ngx_int_t status_handler(ngx_http_request_t* r) noexcept;

}  // namespace petstore::ngx
