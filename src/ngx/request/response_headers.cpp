#include "response_headers.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "../../api/text.h"
#include "../../ngx_base/str.h"
#include "../module.h"
#include "../nginx/headers.h"
#include "../worker/zone.h"
#include "address_limit.h"
#include "entered_location.h"
#include "request_info.h"

namespace petstore::ngx {

namespace {

constexpr std::string_view kRatePrefix = "X-RateLimit-";

constexpr auto kRateSuffixes = [] {
    std::array<std::string_view, 3 + api::kWindowHeaders.size()> suffixes = {
        "Limit", "Remaining", "Reset"};
    auto* next = suffixes.data() + 3;
    for (const std::string_view name : api::kWindowHeaders) {
        *next++ = name.substr(kRatePrefix.size());
    }
    return suffixes;
}();

constexpr std::string_view kIetfSuffixes[] = {"", "-Policy", "-Limit",
                                              "-Remaining", "-Reset"};

template <typename Suffixes>
bool consists_of(std::string_view name, std::string_view prefix,
                 const Suffixes& suffixes) noexcept
{
    return api::starts_with_ignoring_case(name, prefix)
           && std::any_of(std::begin(suffixes), std::end(suffixes),
                          [&](std::string_view suffix) {
                              return api::equals_ignoring_case(
                                  name.substr(prefix.size()), suffix);
                          });
}

bool is_rate_header(std::string_view name) noexcept
{
    return consists_of(name, kRatePrefix, kRateSuffixes)
           || consists_of(name, "RateLimit", kIetfSuffixes);
}

bool add_rate_headers(ngx_http_request_t* r, const api::RateView& rate) noexcept
{
    return add_header_number(r, "X-RateLimit-Limit", rate.limit)
           && add_header_number(r, "X-RateLimit-Remaining", rate.remaining)
           && add_header_number(r, "X-RateLimit-Reset", rate.reset);
}

bool add_deprecation_headers(ngx_http_request_t* r,
                             const RequestInfo& info) noexcept
{
    const LocConf& conf =
        info.deprecated_in != nullptr ? *info.deprecated_in : governing_conf(r);
    return add_header(r, "Deprecation", service::kDeprecatedSince)
           && (conf.sunset.empty() || add_header(r, "Sunset", conf.sunset))
           && add_header(r, "Link", conf.deprecated_link);
}

// petstore_limit_headers windows: one header per window, as API gateways send
// them.
bool add_window_headers(ngx_http_request_t* r,
                        const api::Decision& decision) noexcept
{
    const auto* names = api::kWindowHeaders.begin();
    for (const api::WindowKind& kind : api::kWindows) {
        const api::Window& window = decision.*kind.window;
        if (window.limit != 0
            && !(add_header_number(r, names[0], window.limit)
                 && add_header_number(r, names[1], window.remaining())
                 && add_header_number(r, names[2],
                                      api::seconds_up(window.reset)))) {
            return false;
        }
        names += 3;
    }
    return true;
}

// The length of a window in seconds; that of the current month.
std::int64_t seconds_of(const api::WindowKind& kind, api::Millis now) noexcept
{
    if (kind.window == &api::Decision::minute) {
        return api::kMinuteSeconds;
    }
    if (kind.window == &api::Decision::day) {
        return api::kDaySeconds;
    }
    const api::Day today = api::day_of(now / 1000);
    return (api::first_of_next_month(today) - api::first_of_month(today))
           * api::kDaySeconds;
}

// draft-ietf-httpapi-ratelimit-headers: the windows as named policies.
bool add_ietf_headers(ngx_http_request_t* r,
                      const api::Decision& decision) noexcept
{
    u_char policies[256];
    u_char limits[256];
    u_char* policies_end = policies;
    u_char* limits_end = limits;
    for (const api::WindowKind& kind : api::kWindows) {
        const api::Window& window = decision.*kind.window;
        if (window.limit == 0) {
            continue;
        }
        const char* const separator = policies_end == policies ? "" : ", ";
        policies_end = ngx_slprintf(
            policies_end, std::end(policies), "%s\"%*s\";q=%L;w=%L", separator,
            kind.name.size(), kind.name.data(), window.limit,
            seconds_of(kind, decision.now));
        const auto left = api::seconds_up(window.reset - decision.now);
        limits_end =
            ngx_slprintf(limits_end, std::end(limits), "%s\"%*s\";r=%L;t=%L",
                         separator, kind.name.size(), kind.name.data(),
                         window.remaining(), left > 0 ? left : 0);
    }
    const auto text = [](const u_char* start, const u_char* end) {
        return std::string_view(reinterpret_cast<const char*>(start),
                                static_cast<std::size_t>(end - start));
    };
    return add_header_copy(r, "RateLimit-Policy", text(policies, policies_end))
           && add_header_copy(r, "RateLimit", text(limits, limits_end));
}

// The rate to report; without a decision, that of the client's address.
api::RateView rate_of(ngx_http_request_t* r, service::RequestState& state,
                      const LocConf& conf) noexcept
{
    const auto* main = main_conf(r);
    if (!state.rate && main->zone != nullptr) {
        state.rate =
            peek_address_window(r, Zone(main->zone), conf.anonymous_limit).rate;
    }
    return state.rate.value_or(api::RateView());
}

bool add_all_rate_headers(ngx_http_request_t* r, RequestInfo& info) noexcept
{
    using Stage = service::SharedDecision::Stage;
    const LocConf& conf = rate_headers_conf(r, info);
    if (!add_rate_headers(r, rate_of(r, info.service, conf))) {
        return false;
    }
    const auto& shared = info.service.decision;
    const api::Decision* const decision = shared.stage == Stage::made
                                              ? &shared.value
                                              : info.service.windows.get();
    if (decision == nullptr) {
        return true;
    }
    switch (conf.limit_headers) {
    case kHeadersWindows:
        return add_window_headers(r, *decision);
    case kHeadersIetf:
        return add_ietf_headers(r, *decision);
    default:
        return true;
    }
}

}  // namespace

const LocConf& rate_headers_conf(ngx_http_request_t* r,
                                 const RequestInfo& info) noexcept
{
    const LocConf* first = r == r->main ? info.guard.first : nullptr;
    return first != nullptr ? *first : governing_conf(r);
}

bool add_common_headers(ngx_http_request_t* r, RequestInfo& info,
                        bool deprecated) noexcept
{
    return (has_header(r, "Cache-Control")
            || add_header(r, "Cache-Control", "no-store"))
           && add_all_rate_headers(r, info)
           && (!deprecated || add_deprecation_headers(r, info));
}

namespace {

void remove_rate_headers(ngx_http_request_t* r) noexcept
{
    remove_headers(r, is_rate_header);
}

void clear_header(ngx_table_elt_t*& header) noexcept
{
    if (header != nullptr) {
        header->hash = 0;
        header = nullptr;
    }
}

}  // namespace

void forget_dropped_response(ngx_http_request_t* r, ngx_uint_t status) noexcept
{
    auto& out = r->headers_out;
    clear_header(out.content_length);
    clear_header(out.content_encoding);
    clear_header(out.etag);
    clear_header(out.accept_ranges);
    out.charset.len = 0;
    clear_header(out.last_modified);
    if (status != NGX_HTTP_RANGE_NOT_SATISFIABLE) {
        clear_header(out.content_range);
    } else if (out.content_range != nullptr) {
        // nginx may have applied the Range to an error page, too.
        keep_header(r, "Content-Range", *out.content_range);
    }
    out.last_modified_time = -1;
    r->allow_ranges = 0;
    remove_rate_headers(r);
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
    // RFC 9110, section 13.1.4: to be ignored where there is no Last-Modified.
    r->headers_in.if_unmodified_since = nullptr;
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
