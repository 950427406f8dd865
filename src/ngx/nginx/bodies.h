#pragma once

#include <string_view>

#include "../../ngx_base/ngx.h"

// Bodies of requests and responses.
namespace petstore::ngx {

// Discards an unread body, which would otherwise be parsed as the next request
// on the connection.
void discard_body(ngx_http_request_t* r) noexcept;

// Closes the connection after a final response if the client waits for "100
// Continue", because it may never send the body.
void close_after_expect(ngx_http_request_t* r) noexcept;

// A buffer with a copy of the text; nullptr if out of memory.
ngx_buf_t* copied_buffer(ngx_pool_t* pool, std::string_view text) noexcept;

// Sends the whole body, after the header. nullptr stands for a failed
// allocation. Returns the value to finalize the request with.
ngx_int_t send_body(ngx_http_request_t* r, ngx_buf_t* buffer) noexcept;

}  // namespace petstore::ngx
