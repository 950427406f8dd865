#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

struct LocConf;
struct RequestInfo;

// Whether the request's Content-Length exceeds the client_max_body_size that
// the API has lifted in its location, that of `conf`. If so, logs that and
// discards the body; later calls return false, for the page of the 413. Call
// where another handler may read the body.
bool exceeds_lifted_limit(ngx_http_request_t* r, RequestInfo& info,
                          const LocConf& conf) noexcept;

}  // namespace petstore::ngx
