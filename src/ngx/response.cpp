#include "response.h"

#include "anonymous.h"
#include "module.h"
#include "pool.h"
#include "str.h"

namespace petstore::ngx {

namespace {

// When getPet was announced as deprecated: the first release (RFC 9745).
constexpr std::string_view kDeprecatedSince = "@1795219200";  // 2026-11-21

bool add_rate_headers(ngx_http_request_t* r, const RequestInfo& info) noexcept
{
    return add_header_number(r, "X-RateLimit-Limit", info.rate.limit)
           && add_header_number(r, "X-RateLimit-Remaining", info.rate.remaining)
           && add_header_number(r, "X-RateLimit-Reset", info.rate.reset);
}

bool add_deprecation_headers(ngx_http_request_t* r) noexcept
{
    const LocConf& conf = *loc_conf(r);
    return add_header(r, "Deprecation", kDeprecatedSince)
           && (conf.sunset.empty() || add_header(r, "Sunset", conf.sunset))
           && add_header(r, "Link", conf.deprecated_link);
}

// One header for each window, in the manner of gateways.
bool add_window_headers(ngx_http_request_t* r,
                        const api::Decision& decision) noexcept
{
    const auto& minute = decision.minute;
    const auto& day = decision.day;
    return add_header_number(r, "X-RateLimit-Limit-Minute", minute.limit)
           && add_header_number(r, "X-RateLimit-Remaining-Minute",
                                minute.remaining())
           && add_header_number(r, "X-RateLimit-Reset-Minute",
                                api::seconds_up(minute.reset))
           && add_header_number(r, "X-RateLimit-Limit-Day", day.limit)
           && add_header_number(r, "X-RateLimit-Remaining-Day", day.remaining())
           && add_header_number(r, "X-RateLimit-Reset-Day",
                                api::seconds_up(day.reset));
}

// draft-ietf-httpapi-ratelimit-headers: both windows as named policies.
bool add_ietf_headers(ngx_http_request_t* r,
                      const api::Decision& decision) noexcept
{
    u_char text[256];
    const auto& minute = decision.minute;
    const auto& day = decision.day;
    auto left = [&](const api::Window& window) -> std::int64_t {
        const auto seconds = api::seconds_up(window.reset - decision.now);
        return seconds > 0 ? seconds : 0;
    };
    u_char* end = ngx_snprintf(text, sizeof(text),
                               "\"minute\";q=%L;w=60, \"day\";q=%L;w=86400",
                               minute.limit, day.limit);
    if (!add_header_copy(r, "RateLimit-Policy",
                         {reinterpret_cast<char*>(text),
                          static_cast<std::size_t>(end - text)})) {
        return false;
    }
    end = ngx_snprintf(
        text, sizeof(text), "\"minute\";r=%L;t=%L, \"day\";r=%L;t=%L",
        minute.remaining(), left(minute), day.remaining(), left(day));
    return add_header_copy(
        r, "RateLimit",
        {reinterpret_cast<char*>(text), static_cast<std::size_t>(end - text)});
}

}  // namespace

RequestInfo* request_info(ngx_http_request_t* r, bool create) noexcept
{
    auto* info = static_cast<RequestInfo*>(
        ngx_http_get_module_ctx(r->main, ngx_http_petstore_module));
    if (info == nullptr) {
        info = find_in_pool<RequestInfo>(r->pool);
        if (info == nullptr && create) {
            info = pool_new<RequestInfo>(r->pool);
        }
        ngx_http_set_ctx(r->main, info, ngx_http_petstore_module);
    }
    return info;
}

bool add_common_headers(ngx_http_request_t* r, RequestInfo& info) noexcept
{
    const LocConf& conf = *loc_conf(r);
    if (!info.has_rate) {
        const auto* main = main_conf(r);
        if (main->zone != nullptr) {
            info.rate =
                anonymous_window(r, main->zone, conf.anonymous_limit, false)
                    .rate;
            info.has_rate = true;
        }
    }
    if (!has_header(r, "Cache-Control")
        && !add_header(r, "Cache-Control", "no-store")) {
        return false;
    }
    if (!add_rate_headers(r, info)) {
        return false;
    }
    if (info.has_windows) {
        if (conf.limit_headers == kHeadersWindows
            && !add_window_headers(r, info.decision)) {
            return false;
        }
        if (conf.limit_headers == kHeadersIetf
            && !add_ietf_headers(r, info.decision)) {
            return false;
        }
    }
    return !info.deprecated || add_deprecation_headers(r);
}

namespace {

// Sends the header; the body has to follow unless `done` is set.
ngx_int_t send_head(ngx_http_request_t* r, RequestInfo& info, ngx_int_t status,
                    std::size_t size, bool& done) noexcept
{
    done = true;
    if (!add_common_headers(r, info)) {
        // Not a status: some headers are set, and nginx's error page would
        // carry them again.
        return NGX_ERROR;
    }
    info.generated_by_module = r == r->main;
    r->headers_out.status = static_cast<ngx_uint_t>(status);
    r->headers_out.content_length_n = static_cast<off_t>(size);
    if (status == NGX_HTTP_NO_CONTENT) {
        r->header_only = 1;
    } else {
        ngx_str_set(&r->headers_out.content_type, "application/json");
        r->headers_out.content_type_len = r->headers_out.content_type.len;
        r->headers_out.content_type_lowcase = nullptr;
    }
    const ngx_int_t rc = ngx_http_send_header(r);
    done = rc == NGX_ERROR || rc > NGX_OK || r->header_only;
    return rc;
}

ngx_int_t send_body(ngx_http_request_t* r, ngx_buf_t* buffer) noexcept
{
    buffer->last_buf = r == r->main ? 1 : 0;
    buffer->last_in_chain = 1;
    ngx_chain_t out{buffer, nullptr};
    return ngx_http_output_filter(r, &out);
}

}  // namespace

ngx_int_t send_response(ngx_http_request_t* r, RequestInfo& info,
                        ngx_int_t status, std::string_view body) noexcept
{
    bool done = false;
    const ngx_int_t rc = send_head(r, info, status, body.size(), done);
    if (done) {
        return rc;
    }
    ngx_buf_t* buffer = ngx_create_temp_buf(r->pool, body.size());
    if (buffer == nullptr) {
        return NGX_ERROR;
    }
    buffer->last = ngx_cpymem(buffer->last, body.data(), body.size());
    return send_body(r, buffer);
}

ngx_int_t send_response(ngx_http_request_t* r, RequestInfo& info,
                        ngx_int_t status,
                        std::shared_ptr<const store::Answer> answer) noexcept
{
    bool done = false;
    const ngx_int_t rc = send_head(r, info, status, answer->body.size(), done);
    if (done) {
        return rc;
    }
    const std::string& body = answer->body;
    auto* buffer = static_cast<ngx_buf_t*>(ngx_calloc_buf(r->pool));
    if (buffer == nullptr
        || pool_new<std::shared_ptr<const store::Answer>>(r->pool,
                                                          std::move(answer))
               == nullptr) {
        return NGX_ERROR;
    }
    buffer->memory = 1;
    buffer->pos = reinterpret_cast<u_char*>(const_cast<char*>(body.data()));
    buffer->last = buffer->pos + body.size();
    return send_body(r, buffer);
}

}  // namespace petstore::ngx
