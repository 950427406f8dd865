#pragma once

#include <string>

#include "../../ngx_base/ngx.h"

// What was wrong with a request that nginx refused with its own error page.
namespace petstore::ngx {

// nginx's status of the error. The client gets 400 for the internal statuses
// 494 to 497, which nginx has overwritten by now.
int nginx_error_status(ngx_http_request_t* r) noexcept;

// The body of the error with this status. Throws std::bad_alloc.
std::string nginx_error_body(ngx_http_request_t* r, int status);

}  // namespace petstore::ngx
