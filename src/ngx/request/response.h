#pragma once

#include "../../ngx_base/ngx.h"
#include "../../service/responder.h"

namespace petstore::ngx {

struct RequestInfo;

// Adds the headers common to all responses of the service: rate headers,
// Cache-Control unless another module has set it, and deprecation headers.
// Without a valid key, the rate headers describe the window of the client's
// address. All of these functions return false if out of memory.
bool add_common_headers(ngx_http_request_t* r, RequestInfo& info,
                        bool deprecated) noexcept;

void remove_rate_headers(ngx_http_request_t* r) noexcept;

// Replaces the rate headers of a guarded handler with ours.
bool set_rate_headers(ngx_http_request_t* r, RequestInfo& info) noexcept;

// Adds the headers specific to this response.
bool add_response_headers(ngx_http_request_t* r,
                          const service::Response& response) noexcept;

// Sends a whole response; nothing may be sent after it. Returns the value to
// finalize the request with.
ngx_int_t send_response(ngx_http_request_t* r, RequestInfo& info,
                        bool deprecated,
                        const service::Response& response) noexcept;

// Closes the connection after a final response if the client waits for "100
// Continue", because it may never send the body.
void close_after_expect(ngx_http_request_t* r) noexcept;

// Discards an unread body, which would otherwise be parsed as the next request
// on the connection.
void discard_body(ngx_http_request_t* r) noexcept;

}  // namespace petstore::ngx
