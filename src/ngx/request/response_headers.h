#pragma once

#include "../../ngx_base/ngx.h"
#include "../../service/responder.h"

// The headers of the service's responses. Functions that add some return false
// if out of memory.
namespace petstore::ngx {

struct LocConf;
struct RequestInfo;

// The location whose form the rate headers have: the first guarded one that the
// client's request has entered, else that of the response.
const LocConf& rate_headers_conf(ngx_http_request_t* r,
                                 const RequestInfo& info) noexcept;

// Those common to all responses: rate headers, Cache-Control unless another
// module has set it, and deprecation headers. Without a valid key, the rate
// headers describe the window of the client's address.
bool add_common_headers(ngx_http_request_t* r, RequestInfo& info,
                        bool deprecated) noexcept;

// Those specific to this response.
bool add_response_headers(ngx_http_request_t* r,
                          const service::Response& response) noexcept;

// Call for an error's page of this status: removes what a handler may have set
// for the response that a filter has dropped, which nginx keeps. The
// latest Content-Range of a 416 stays.
void forget_dropped_response(ngx_http_request_t* r, ngx_uint_t status) noexcept;

// Replaces the rate headers of a guarded handler with ours.
bool set_rate_headers(ngx_http_request_t* r, RequestInfo& info) noexcept;

}  // namespace petstore::ngx
