#pragma once

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// Whether the configuration of this process has the module. If not, its filters
// pass everything on: r->main_conf has nothing for them. Set before the first
// request. Workers without the module run its filters after nginx has refused a
// configuration that was the first to load it.
inline bool filters_enabled = false;

// The heads of nginx's filter chains. They are global: a configuration that the
// master fails to load leaves its filters there, and workers started later
// would run them.
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
