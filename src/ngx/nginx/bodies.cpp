#include "bodies.h"

namespace petstore::ngx {

namespace {

// Then the client may never send the body, and the connection must not be used
// again after a final response.
bool waits_for_continue(const ngx_http_request_t* r) noexcept
{
    return r->headers_in.expect != nullptr && !r->expect_tested;
}

}  // namespace

void discard_body(ngx_http_request_t* r) noexcept
{
    if (r->request_body != nullptr || r->discard_body) {
        return;
    }
    if (waits_for_continue(r)) {
        r->keepalive = 0;
    }
    r->expect_tested = 1;
    if (ngx_http_discard_request_body(r) != NGX_OK) {
        r->keepalive = 0;
    }
}

void forget_expected_body(ngx_http_request_t* r) noexcept
{
    if (!waits_for_continue(r)) {
        return;
    }
    r->keepalive = 0;
    // nginx tests what clients of HTTP/1.1 expect before it reads a body, so
    // theirs is certainly unread.
    if (r->http_version != NGX_HTTP_VERSION_11 || r->request_body != nullptr
        || r->discard_body) {
        return;
    }
    auto& in = r->headers_in;
    r->expect_tested = 1;
    in.content_length = nullptr;
    in.content_length_n = -1;
    in.chunked = 0;
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
