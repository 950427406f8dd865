#pragma once

#include "../../ngx_base/ngx.h"
#include "../../service/responder.h"

namespace petstore::ngx {

struct RequestInfo;

// Sends a whole response; nothing may be sent after it. Returns the value to
// finalize the request with.
ngx_int_t send_response(ngx_http_request_t* r, RequestInfo& info,
                        bool deprecated,
                        const service::Response& response) noexcept;

}  // namespace petstore::ngx
