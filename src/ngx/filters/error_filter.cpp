#include "../../ngx_base/exception_border.h"
#include "../../ngx_base/str.h"
#include "../hooks.h"
#include "../module.h"
#include "../nginx/headers.h"
#include "../nginx/nginx_error.h"
#include "../request/http_request.h"
#include "../request/request_info.h"
#include "../request/response_headers.h"
#include "filter_chains.h"

namespace petstore::ngx {

namespace {

// nginx chains filters through static variables in each module.
ngx_http_output_header_filter_pt next_header_filter;
ngx_http_output_body_filter_pt next_body_filter;

// Whether nginx is relaying an upstream's response, live or from its cache.
// nginx clears `cleanup` before it sends its own error instead, or follows
// X-Accel-Redirect.
bool is_from_upstream(const ngx_http_request_t* r) noexcept
{
    bool from_cache = false;
#if (NGX_HTTP_CACHE)
    from_cache = r->cached;
#endif
    return r->upstream != nullptr
           && (r->upstream->cleanup != nullptr || from_cache);
}

// Whether nginx itself produced this error since it entered the location: in a
// filter, such as 412 or 415, or 416 for a cached response. nginx then still
// has the upstream's state. Without `info`, a redirected request does not
// count: it may be for an error page.
bool failed_here(const ngx_http_request_t* r, const RequestInfo* info) noexcept
{
    return r->err_status != 0
           && (info != nullptr ? r->err_status != info->status_on_entry
                               : !r->internal);
}

// The origin of an error response's page.
enum class Page { nginx, other, unknown };

// Determines the origin from the header alone. If nginx has redirected the
// request, perhaps to an error_page, its own page and the text of a `return`
// look alike until the body arrives. For HEAD the page counts as nginx's own,
// because no body will follow.
Page page_of(const ngx_http_request_t* r, const RequestInfo* info) noexcept
{
    const auto& out = r->headers_out;
    if (r->err_status == 0 || out.last_modified_time != -1
        || (is_from_upstream(r) && !failed_here(r, info))) {
        return Page::other;
    }
    if (!r->internal
        || (out.content_length_n <= 0 && out.content_type.len == 0)) {
        return Page::nginx;  // the latter: it has no page for this status
    }
    if (out.content_length_n <= 0
        || ngx_base::view(out.content_type) != "text/html") {
        return Page::other;
    }
    return r->method == NGX_HTTP_HEAD ? Page::nginx : Page::unknown;
}

// Whether this body is one of nginx's built-in pages. Their text differs
// between versions and forks, but all send them at once, as a chain that begins
// and ends with constants; the text of a `return` is a single buffer.
bool is_builtin_page(const ngx_chain_t* in) noexcept
{
    if (in == nullptr || in->next == nullptr || !in->buf->memory) {
        return false;
    }
    while (in->next != nullptr) {
        in = in->next;
    }
    return in->buf->memory && in->buf->last_buf;
}

// Like page_of(), but Page::other if the response must not be replaced. Errors
// in a location of the API are always replaced.
Page replaceable_page_of(ngx_http_request_t* r,
                         const RequestInfo* info) noexcept
{
    if (r != r->main || r->headers_out.status < NGX_HTTP_BAD_REQUEST) {
        return Page::other;
    }
    // The handler announces no body that could be replaced. For HEAD, nginx
    // sets header_only after this filter.
    if (r->header_only) {
        return Page::other;
    }
    if (r->content_handler == content_handler) {
        return Page::nginx;
    }
    return loc_conf(r)->json_errors || belongs_to_service(r) ? page_of(r, info)
                                                             : Page::other;
}

// Whether the response announces that the operation is deprecated. nginx may
// report errors before the service has seen the request.
bool is_deprecated(ngx_http_request_t* r, const RequestInfo& info) noexcept
{
    if (info.service.deprecated || r->content_handler != content_handler) {
        return info.service.deprecated;
    }
    const LocConf& conf = *loc_conf(r);
    const HttpRequest request(r, conf);
    return api::route(request.method(), request.path(), conf.service.base_path)
               .operation
           == api::Operation::get_pet;
}

ngx_int_t replace(ngx_http_request_t* r, RequestInfo& info)
{
    const int status = nginx_error_status(r);
    ErrorPage& page = info.error_page;
    if (info.guard.refusal.status == status) {
        page.body = info.guard.refusal.body;
    } else {
        page.body = ngx_base::copy(r->pool, nginx_error_body(r, status));
        info.service.error_code = api::code_name_for_status(status);
    }
    if (page.body.data == nullptr) {
        return NGX_ERROR;
    }
    page.replaces = true;

    forget_dropped_response(r, static_cast<ngx_uint_t>(status));
    r->headers_out.content_length_n = static_cast<off_t>(page.body.len);
    set_content_type(r, "application/json");

    if (!add_common_headers(r, info, is_deprecated(r, info))) {
        return NGX_ERROR;
    }
    if (api::is_retryable_status(status) && !has_header(r, "Retry-After")
        && !add_header(r, "Retry-After", "1")) {
        return NGX_ERROR;
    }
    // A `return 401`, or an auth_request back end that sends no challenge: a
    // 401 must have one (RFC 9110, section 15.5.2).
    if (status == NGX_HTTP_UNAUTHORIZED && belongs_to_service(r)
        && !has_header(r, "WWW-Authenticate")
        && !add_header(r, "WWW-Authenticate",
                       governing_conf(r).service.challenge)) {
        return NGX_ERROR;
    }
    return NGX_OK;
}

// nginx keeps the headers of a guard's refusal, and its error page may add its
// own: a second Retry-After would contradict the exact one.
void merge_refusal_headers(ngx_http_request_t* r) noexcept
{
    keep_first_header(r, "Retry-After");
    remove_repeated_headers(r, "WWW-Authenticate");
}

// Sends the header: that of our page if `to_replace` is set, else the original.
ngx_int_t send_header(ngx_http_request_t* r, RequestInfo& info,
                      bool to_replace) noexcept
{
    if (info.guard.refusal.status != 0) {
        merge_refusal_headers(r);
    }
    // A filter may have replaced our response with its own error, such as 412
    // for If-Match, or with the page for it.
    const bool answered = info.answered.status == r->headers_out.status
                          && info.answered.after_dropped == r->filter_finalize;
    info.answered = {};
    // nginx closes the connection behind such an error, but does not say so:
    // see ngx_http_filter_finalize_request().
    if (r->filter_finalize) {
        r->keepalive = 0;
    }
    if (!to_replace) {
        return answered || !belongs_to_service(r) || set_rate_headers(r, info)
                   ? next_header_filter(r)
                   : NGX_ERROR;
    }
    if (!answered) {
        const ngx_int_t rc = ngx_base::guarded(
            r->connection->log, static_cast<ngx_int_t>(NGX_ERROR),
            [&] { return replace(r, info); });
        if (rc != NGX_OK) {
            return rc;
        }
    }
    return next_header_filter(r);
}

ngx_int_t error_header_filter(ngx_http_request_t* r) noexcept
{
    if (!filters_enabled || !main_conf(r)->has_effect()) {
        return next_header_filter(r);
    }
    RequestInfo* info = r == r->main ? find_request_info(r) : nullptr;
    if (info != nullptr) {
        info->error_page = {};  // of a response that a filter has dropped
    }
    const Page page = replaceable_page_of(r, info);
    if (page == Page::other && !belongs_to_service(r)) {
        return next_header_filter(r);
    }
    if (info == nullptr) {
        info = ensure_request_info(r);
    }
    if (info == nullptr) {
        return NGX_ERROR;
    }
    if (page == Page::unknown) {
        info->error_page.header_held = true;
        return NGX_OK;
    }
    return send_header(r, *info, page == Page::nginx);
}

// On the first call with (part of) the page to be replaced, sends our body
// instead. Discards the rest of the page.
ngx_int_t error_body_filter(ngx_http_request_t* r, ngx_chain_t* in) noexcept
{
    if (!filters_enabled || !main_conf(r)->has_effect()) {
        return next_body_filter(r, in);
    }
    RequestInfo* info = r == r->main ? find_request_info(r) : nullptr;
    if (info != nullptr && info->error_page.header_held) {
        info->error_page.header_held = false;
        const ngx_int_t rc = send_header(r, *info, is_builtin_page(in));
        if (rc == NGX_ERROR || rc > NGX_OK) {
            return NGX_ERROR;
        }
    }
    if (in == nullptr || info == nullptr || !info->error_page.replaces) {
        return next_body_filter(r, in);
    }
    for (ngx_chain_t* link = in; link != nullptr; link = link->next) {
        link->buf->pos = link->buf->last;
        link->buf->file_pos = link->buf->file_last;
    }
    if (info->error_page.body.len == 0) {
        return next_body_filter(r, nullptr);
    }

    auto* buffer = static_cast<ngx_buf_t*>(ngx_calloc_buf(r->pool));
    if (buffer == nullptr) {
        return NGX_ERROR;
    }
    buffer->memory = 1;
    buffer->pos = info->error_page.body.data;
    buffer->last = buffer->pos + info->error_page.body.len;
    buffer->last_buf = 1;
    buffer->last_in_chain = 1;
    info->error_page.body.len = 0;
    ngx_chain_t out{buffer, nullptr};
    return next_body_filter(r, &out);
}

}  // namespace

void install_error_filter() noexcept
{
    next_header_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = error_header_filter;
    next_body_filter = ngx_http_top_body_filter;
    ngx_http_top_body_filter = error_body_filter;
}

}  // namespace petstore::ngx
