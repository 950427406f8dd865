// petstore_status: the metrics of this host.
#include "../../api/media_type.h"
#include "../../metrics/formats.h"
#include "../../ngx_base/str.h"
#include "../module.h"
#include "../nginx/handlers.h"
#include "../nginx/headers.h"
#include "metrics.h"
#include "plain_response.h"

namespace petstore::ngx {

namespace {

enum class Format { prometheus, json, html, unknown };

// Browsers prefer HTML; Prometheus and curl do not.
bool prefers_html(ngx_http_request_t* r) noexcept
{
    bool repeated = false;
    const ngx_table_elt_t* accept = find_header(r, "Accept", repeated);
    return accept != nullptr
           && api::prefers(ngx_base::view(accept->value), "text/html",
                           "text/plain");
}

Format format_of(ngx_http_request_t* r) noexcept
{
    ngx_str_t value;
    ngx_str_t name = ngx_string("format");
    if (ngx_http_arg(r, name.data, name.len, &value) != NGX_OK) {
        return prefers_html(r) ? Format::html : Format::prometheus;
    }
    const std::string_view format = ngx_base::view(value);
    return format == "prometheus" ? Format::prometheus
           : format == "json"     ? Format::json
           : format == "html"     ? Format::html
                                  : Format::unknown;
}

ngx_int_t send_status(ngx_http_request_t* r)
{
    const Format format = format_of(r);
    if (format == Format::unknown) {
        return send_plain_error(
            r, {api::ErrorCode::invalid_parameter,
                "format must be \"prometheus\", \"json\" or \"html\"."});
    }
    const auto totals = totals_of(Zone(main_conf(r)->zone));
    switch (format) {
    case Format::json:
        return send_plain(
            r, {200, "application/json", metrics::status_json(totals), {}});
    case Format::html:
        return send_plain(
            r, {200,
                "text/html; charset=utf-8",
                metrics::status_page(totals),
                {{"Content-Security-Policy", metrics::status_page_policy()},
                 {"X-Content-Type-Options", "nosniff"},
                 {"Referrer-Policy", "no-referrer"},
                 {"Vary", "Accept"}}});
    default:
        return send_plain(r, {200,
                              "text/plain; version=0.0.4; charset=utf-8",
                              metrics::prometheus_text(totals),
                              {{"Vary", "Accept"}}});
    }
}

}  // namespace

ngx_int_t status_handler(ngx_http_request_t* r) noexcept
{
    const ngx_int_t rc = check_read_method(r);
    if (rc != NGX_OK) {
        return rc;
    }
    return run_handler(r, [r] { return send_status(r); });
}

}  // namespace petstore::ngx
