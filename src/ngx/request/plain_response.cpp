#include "plain_response.h"

#include "../../ngx_base/str.h"
#include "../filters/headers.h"
#include "response.h"

namespace petstore::ngx {

bool is_read_method(ngx_http_request_t* r, ngx_int_t& rc) noexcept
{
    if ((r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) != 0) {
        return true;
    }
    rc = add_header(r, "Allow", "GET, HEAD") ? NGX_HTTP_NOT_ALLOWED
                                             : NGX_HTTP_INTERNAL_SERVER_ERROR;
    return false;
}

ngx_int_t send_plain(ngx_http_request_t* r,
                     const PlainResponse& response) noexcept
{
    discard_body(r);
    auto& out = r->headers_out;
    out.status = static_cast<ngx_uint_t>(response.status);
    out.content_length_n = static_cast<off_t>(response.body.size());
    if (!response.type.empty()) {
        out.content_type = ngx_base::borrow(response.type);
        out.content_type_len = response.type.size();
        out.content_type_lowcase = nullptr;
    }
    bool added = has_header(r, "Cache-Control")
                 || add_header(r, "Cache-Control", "no-store");
    for (const auto& [name, value] : response.headers) {
        added = added && add_header(r, name, value);
    }
    if (!added) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
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
    ngx_buf_t* buffer = ngx_create_temp_buf(r->pool, response.body.size());
    if (buffer == nullptr) {
        return NGX_ERROR;
    }
    buffer->last =
        ngx_cpymem(buffer->last, response.body.data(), response.body.size());
    buffer->last_buf = r == r->main ? 1 : 0;
    buffer->last_in_chain = 1;
    ngx_chain_t chain{buffer, nullptr};
    return ngx_http_output_filter(r, &chain);
}

ngx_int_t send_plain_error(ngx_http_request_t* r, const api::Error& error)
{
    return send_plain(r, {api::http_status(error.code), "application/json",
                          api::error_body(error)});
}

}  // namespace petstore::ngx
