#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "../../api/error.h"
#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// Responses of locations that are not part of the API: without rate headers,
// and never cached.
struct PlainResponse {
    int status = 200;
    std::string_view type;  // constant; empty for a response without a body
    std::string body;       // copied
    std::initializer_list<std::pair<std::string_view, std::string_view>>
        headers = {};  // constant
};

// NGX_OK for GET and HEAD. Otherwise what the handler must return: 405, with
// Allow already added, or 500 if out of memory.
ngx_int_t check_read_method(ngx_http_request_t* r) noexcept;

// Sends the response and returns the value to finalize the request with.
ngx_int_t send_plain(ngx_http_request_t* r,
                     const PlainResponse& response) noexcept;

// Sends the error as JSON (schema Error). Throws std::bad_alloc.
ngx_int_t send_plain_error(ngx_http_request_t* r, const api::Error& error);

}  // namespace petstore::ngx
