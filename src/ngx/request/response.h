#pragma once

#include "../../ngx_base/ngx.h"
#include "../../service/responder.h"

namespace petstore::ngx {

struct RequestInfo;

// Sends a whole response; nothing may be sent after it. `deprecated`: by an
// operation that is. Returns the value to finalize the request with.
ngx_int_t send_response(ngx_http_request_t* r, RequestInfo& info,
                        const service::Response& response,
                        bool deprecated = false) noexcept;

}  // namespace petstore::ngx
