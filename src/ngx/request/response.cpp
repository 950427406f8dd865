#include "response.h"

#include <memory>

#include "../../ngx_base/str.h"
#include "../module.h"
#include "../nginx/bodies.h"
#include "../nginx/headers.h"
#include "../nginx/pool.h"
#include "request_info.h"
#include "response_headers.h"

namespace petstore::ngx {

namespace {

// Sends the header. The result is that of ngx_http_send_header(), or NGX_ERROR.
ngx_int_t send_head(ngx_http_request_t* r, RequestInfo& info, bool deprecated,
                    ngx_int_t status, std::size_t size) noexcept
{
    if (deprecated && r == r->main) {
        info.deprecated_in = loc_conf(r);
    }
    if (!add_common_headers(r, info, deprecated)) {
        // Not a status: some headers are already set, and nginx's error page
        // would repeat them.
        return NGX_ERROR;
    }
    if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) == 0) {
        // nginx would report that a condition does not hold, after the change.
        r->disable_not_modified = 1;
    }
    set_status(r, status);
    info.answered = {r == r->main ? status_of(r) : 0, r->filter_finalize != 0};
    r->headers_out.content_length_n = static_cast<off_t>(size);
    if (status == NGX_HTTP_NO_CONTENT) {
        r->header_only = 1;
    } else {
        set_content_type(r, "application/json");
    }
    return ngx_http_send_header(r);
}

// A buffer with the body: a copy, or a reference to the cached response, which
// the pool keeps alive until it was sent. nullptr if out of memory.
ngx_buf_t* body_buffer(ngx_pool_t* pool,
                       const service::Response& response) noexcept
{
    using Shared = std::shared_ptr<const store::CachedResponse>;
    if (response.cached == nullptr) {
        return copied_buffer(pool, response.body);
    }
    auto* buffer = static_cast<ngx_buf_t*>(ngx_calloc_buf(pool));
    if (buffer == nullptr
        || pool_new<Shared>(pool, response.cached) == nullptr) {
        return nullptr;
    }
    const ngx_str_t body = ngx_base::borrow(response.cached->body);
    buffer->memory = 1;
    buffer->pos = body.data;
    buffer->last = body.data + body.len;
    return buffer;
}

}  // namespace

ngx_int_t send_response(ngx_http_request_t* r, RequestInfo& info,
                        const service::Response& response,
                        bool deprecated) noexcept
{
    // Only a filter that has dropped a response leaves its status.
    if (r->error_page || r->err_status != 0 || r->headers_out.status != 0) {
        const bool is_error = response.status >= NGX_HTTP_BAD_REQUEST;
        forget_dropped_response(r, is_error ? response.status : r->err_status);
    }
    if (!add_response_headers(r, response)) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    const std::size_t size = response.cached != nullptr
                                 ? response.cached->body.size()
                                 : response.body.size();
    const ngx_int_t rc = send_head(r, info, deprecated, response.status, size);
    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }
    return send_body(r, body_buffer(r->pool, response));
}

}  // namespace petstore::ngx
