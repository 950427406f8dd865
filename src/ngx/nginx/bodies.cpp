#include "bodies.h"

namespace petstore::ngx {

void discard_body(ngx_http_request_t* r) noexcept
{
    if (r->request_body != nullptr || r->discard_body) {
        return;
    }
    close_after_expect(r);
    r->expect_tested = 1;
    if (ngx_http_discard_request_body(r) != NGX_OK) {
        r->keepalive = 0;
    }
}

void close_after_expect(ngx_http_request_t* r) noexcept
{
    if (r->headers_in.expect != nullptr && !r->expect_tested) {
        r->keepalive = 0;
    }
}

ngx_buf_t* copied_buffer(ngx_pool_t* pool, std::string_view text) noexcept
{
    ngx_buf_t* buffer = ngx_create_temp_buf(pool, text.size());
    if (buffer != nullptr) {
        buffer->last = ngx_cpymem(buffer->last, text.data(), text.size());
    }
    return buffer;
}

ngx_int_t send_body(ngx_http_request_t* r, ngx_buf_t* buffer) noexcept
{
    if (buffer == nullptr) {
        return NGX_ERROR;
    }
    buffer->last_buf = r == r->main ? 1 : 0;
    buffer->last_in_chain = 1;
    ngx_chain_t out{buffer, nullptr};
    return ngx_http_output_filter(r, &out);
}

}  // namespace petstore::ngx
