#include "response_headers.h"

#include "../../ngx_base/str.h"
#include "../module.h"
#include "../nginx/headers.h"
#include "../worker/zone.h"
#include "address_limit.h"
#include "entered_location.h"
#include "request_info.h"

namespace petstore::ngx {

namespace {

bool add_rate_headers(ngx_http_request_t* r, const api::RateView& rate) noexcept
{
    return add_header_number(r, "X-RateLimit-Limit", rate.limit)
           && add_header_number(r, "X-RateLimit-Remaining", rate.remaining)
           && add_header_number(r, "X-RateLimit-Reset", rate.reset);
}

bool add_deprecation_headers(ngx_http_request_t* r) noexcept
{
    const LocConf& conf = *loc_conf(r);
    return add_header(r, "Deprecation", service::kDeprecatedSince)
           && (conf.sunset.empty() || add_header(r, "Sunset", conf.sunset))
           && add_header(r, "Link", conf.deprecated_link);
}

// One header per window, as API gateways send them.
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

// The rate to report; without a decision, that of the client's address.
api::RateView rate_of(ngx_http_request_t* r, service::RequestState& state,
                      const LocConf& conf) noexcept
{
    const auto* main = main_conf(r);
    if (!state.rate && main->zone != nullptr) {
        state.rate =
            address_window(r, Zone(main->zone), conf.anonymous_limit, false)
                .rate;
    }
    return state.rate.value_or(api::RateView());
}

bool add_all_rate_headers(ngx_http_request_t* r, RequestInfo& info) noexcept
{
    using Stage = service::SharedDecision::Stage;
    const LocConf& conf = governing_conf(r);
    const auto& decision = info.service.decision;
    if (!add_rate_headers(r, rate_of(r, info.service, conf))) {
        return false;
    }
    if (decision.stage != Stage::made) {
        return true;
    }
    switch (conf.limit_headers) {
    case kHeadersWindows:
        return add_window_headers(r, decision.value);
    case kHeadersIetf:
        return add_ietf_headers(r, decision.value);
    default:
        return true;
    }
}

}  // namespace

bool add_common_headers(ngx_http_request_t* r, RequestInfo& info,
                        bool deprecated) noexcept
{
    return (has_header(r, "Cache-Control")
            || add_header(r, "Cache-Control", "no-store"))
           && add_all_rate_headers(r, info)
           && (!deprecated || add_deprecation_headers(r));
}

void remove_rate_headers(ngx_http_request_t* r) noexcept
{
    remove_headers(r, {"X-RateLimit-Limit", "X-RateLimit-Remaining",
                       "X-RateLimit-Reset", "X-RateLimit-Limit-Minute",
                       "X-RateLimit-Remaining-Minute",
                       "X-RateLimit-Reset-Minute", "X-RateLimit-Limit-Day",
                       "X-RateLimit-Remaining-Day", "X-RateLimit-Reset-Day",
                       "RateLimit", "RateLimit-Policy", "RateLimit-Limit",
                       "RateLimit-Remaining", "RateLimit-Reset"});
}

bool set_rate_headers(ngx_http_request_t* r, RequestInfo& info) noexcept
{
    remove_rate_headers(r);
    return add_all_rate_headers(r, info);
}

namespace {

// Clients may cache the response, but must revalidate it.
bool add_caching_headers(ngx_http_request_t* r, std::string_view etag) noexcept
{
    // RFC 9110, section 13.1.3. nginx requires both to match, and there is no
    // Last-Modified.
    if (r->headers_in.if_none_match != nullptr) {
        r->headers_in.if_modified_since = nullptr;
    }
    return add_header(r, "ETag", etag)
           && (has_header(r, "Cache-Control")
               || add_header(r, "Cache-Control", "no-cache"));
}

}  // namespace

bool add_response_headers(ngx_http_request_t* r,
                          const service::Response& response) noexcept
{
    return (response.allow.empty() || add_header(r, "Allow", response.allow))
           && (response.etag.empty() || add_caching_headers(r, response.etag))
           && (response.authenticate.empty()
               || add_header(r, "WWW-Authenticate", response.authenticate))
           && (response.retry_after == 0
               || add_header_number(r, "Retry-After", response.retry_after))
           && (response.link.empty()
               || add_header_copy(r, "Link", response.link))
           && (response.location.empty()
               || add_header_copy(r, "Location", response.location))
           && (!response.replayed
               || add_header(r, "Idempotent-Replayed", "true"));
}

}  // namespace petstore::ngx
