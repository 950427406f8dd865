#include "plain_response.h"

#include "../nginx/bodies.h"
#include "../nginx/headers.h"

namespace petstore::ngx {

ngx_int_t check_read_method(ngx_http_request_t* r) noexcept
{
    if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) != 0) {
        return NGX_OK;
    }
    return add_header(r, "Allow", "GET, HEAD") ? NGX_HTTP_NOT_ALLOWED
                                               : NGX_HTTP_INTERNAL_SERVER_ERROR;
}

ngx_int_t send_plain(ngx_http_request_t* r,
                     const PlainResponse& response) noexcept
{
    discard_body(r);
    auto& out = r->headers_out;
    set_status(r, response.status);
    out.content_length_n = static_cast<off_t>(response.body.size());
    if (!response.type.empty()) {
        set_content_type(r, response.type);
    }
    bool added = has_header(r, "Cache-Control")
                 || add_header(r, "Cache-Control", "no-store");
    for (const auto& [name, value] : response.headers) {
        added = added && add_header(r, name, value);
    }
    if (!added) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    r->headers_in.if_unmodified_since = nullptr;  // see add_response_headers()
    if (response.body.empty()) {
        r->header_only = 1;
        // As an error page, the response gets the status of the error, and
        // needs a length.
        if (response.status == NGX_HTTP_NO_CONTENT && r->err_status == 0) {
            out.content_length_n = -1;
        }
    }
    const ngx_int_t rc = ngx_http_send_header(r);
    if (rc == NGX_ERROR || rc > NGX_OK || r->header_only) {
        return rc;
    }
    return send_body(r, copied_buffer(r->pool, response.body));
}

ngx_int_t send_plain_error(ngx_http_request_t* r, const api::Error& error)
{
    return send_plain(r, {api::http_status(error.code), "application/json",
                          api::error_body(error)});
}

}  // namespace petstore::ngx
