#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// Where nginx's chains of filters begin: in variables of the process, to which
// modules add their filters whenever the master reads a configuration. Workers
// that it starts after a failed reload serve the old configuration with what
// is in these variables then.
struct FilterChains {
    ngx_http_output_header_filter_pt header = nullptr;
    ngx_http_output_body_filter_pt body = nullptr;
    ngx_http_request_body_filter_pt request_body = nullptr;

    static FilterChains current() noexcept
    {
        return {ngx_http_top_header_filter, ngx_http_top_body_filter,
                ngx_http_top_request_body_filter};
    }
    void restore() const noexcept
    {
        ngx_http_top_header_filter = header;
        ngx_http_top_body_filter = body;
        ngx_http_top_request_body_filter = request_body;
    }
};

}  // namespace petstore::ngx
