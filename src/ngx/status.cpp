#include "status.h"

#include <algorithm>

#include "../api/text.h"
#include "../metrics/formats.h"
#include "../ngx_base/exception_border.h"
#include "../ngx_base/str.h"
#include "metrics.h"
#include "module.h"
#include "plain_response.h"

namespace petstore::ngx {

namespace {

enum class Format { prometheus, json, html, unknown };

// Browsers accept text/html explicitly; Prometheus and curl do not. A quality
// of 0 excludes it; all other qualities count the same.
bool accepts_html(ngx_http_request_t* r) noexcept
{
    constexpr std::string_view kBlank = " \t";
    bool repeated = false;
    const ngx_table_elt_t* accept = find_header(r, "Accept", repeated);
    std::string_view rest = accept != nullptr ? view(accept->value) : "";
    while (!rest.empty()) {
        std::string_view range = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(range.size() + 1, rest.size()));
        range.remove_prefix(
            std::min(range.find_first_not_of(kBlank), range.size()));
        const std::string_view type = range.substr(0, range.find(';'));
        const std::string_view name =
            type.substr(0, type.find_last_not_of(kBlank) + 1);
        const auto quality = range.find("q=");
        const bool excluded =
            quality != std::string_view::npos
            && range.substr(quality + 2).find_first_not_of("0. \t")
                   == std::string_view::npos;
        if (api::equals_ignoring_case(name, "text/html") && !excluded) {
            return true;
        }
    }
    return false;
}

Format format_of(ngx_http_request_t* r) noexcept
{
    ngx_str_t value;
    ngx_str_t name = ngx_string("format");
    if (ngx_http_arg(r, name.data, name.len, &value) != NGX_OK) {
        return accepts_html(r) ? Format::html : Format::prometheus;
    }
    const std::string_view format = view(value);
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
    ngx_int_t rc = NGX_OK;
    if (!is_read_method(r, rc)) {
        return rc;
    }
    return guarded(r->connection->log,
                   static_cast<ngx_int_t>(NGX_HTTP_INTERNAL_SERVER_ERROR),
                   [r] { return send_status(r); });
}

}  // namespace petstore::ngx
