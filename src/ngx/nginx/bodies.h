#pragma once

#include <string_view>

#include "../../ngx_base/ngx.h"

// Bodies of requests and responses.
namespace petstore::ngx {

// Discards an unread body, which would otherwise be parsed as the next request
// on the connection.
void discard_body(ngx_http_request_t* r) noexcept;

// If the client waits for "100 Continue", treats the request as one without a
// body: the response may be an error page of a back end, which must neither ask
// for the body nor wait for it. nginx discards what arrives nevertheless when
// it closes the connection.
void forget_expected_body(ngx_http_request_t* r) noexcept;

// A buffer with a copy of the text; nullptr if out of memory.
ngx_buf_t* copied_buffer(ngx_pool_t* pool, std::string_view text) noexcept;

// Sends the whole body, after the header. nullptr stands for a failed
// allocation. Returns the value to finalize the request with.
ngx_int_t send_body(ngx_http_request_t* r, ngx_buf_t* buffer) noexcept;

}  // namespace petstore::ngx
