// petstore_cors: answers preflights, and completes the responses to browsers.
#include "../../api/router.h"
#include "../../api/text.h"
#include "../../ngx_base/str.h"
#include "../../service/get_usage.h"
#include "../hooks.h"
#include "../module.h"
#include "../nginx/bodies.h"
#include "../nginx/handlers.h"
#include "../nginx/headers.h"
#include "../request/request_info.h"
#include "../request/response.h"
#include "../request/response_headers.h"
#include "filter_chains.h"

namespace petstore::ngx {

namespace {

ngx_http_output_header_filter_pt next_cors_filter;

constexpr std::string_view kApiMethods = "GET, HEAD, POST, OPTIONS";
constexpr std::string_view kGuardMethods =
    "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

// The request's Origin; nullptr if there is none, or more than one.
const ngx_table_elt_t* origin_of(ngx_http_request_t* r) noexcept
{
    bool repeated = false;
    const ngx_table_elt_t* header = find_header(r, "Origin", repeated);
    return repeated ? nullptr : header;
}

// The value of Access-Control-Allow-Origin; empty if the origin is not allowed.
// A list of origins is short, and comparing lengths rules most of them out.
std::string_view allowed_origin(ngx_http_request_t* r,
                                const CorsPolicy& policy) noexcept
{
    if (policy.any) {
        return "*";
    }
    if (const auto* header = origin_of(r)) {
        for (const auto& origin : policy.origins) {
            if (origin == ngx_base::view(header->value)) {
                return origin;
            }
        }
    }
    return {};
}

// Wherever nginx has redirected the request, it is the policy of the location
// by which a preflight is answered, if that has one. nullptr if there is none.
const CorsPolicy* configured_policy(ngx_http_request_t* r,
                                    const RequestInfo* info) noexcept
{
    // An admin API has only a policy that stands in its location.
    if (info != nullptr && handler_of(r) != admin_handler) {
        const EnteredLocation& entered = info->entered;
        for (const LocConf* conf : {entered.reached, entered.first}) {
            if (conf != nullptr && conf->cors != nullptr) {
                return conf->cors;
            }
        }
    }
    return governing_conf(r).cors;
}

// The policy that applies to a response; nullptr if there is none. Errors that
// are replaced outside the service follow the policy where they occur.
const CorsPolicy* policy_of(ngx_http_request_t* r) noexcept
{
    const RequestInfo* info = find_request_info(r);
    if (!belongs_to_service(r)
        && (info == nullptr || !info->error_page.replaces)) {
        return nullptr;
    }
    const CorsPolicy* policy = configured_policy(r, info);
    return policy == nullptr || policy->is_off() ? nullptr : policy;
}

// With gzip_vary, nginx writes a separate Vary line before ours, but some
// caches use only the last one.
bool vary_by_origin(ngx_http_request_t* r) noexcept
{
#if (NGX_HTTP_GZIP)
    if (core_loc_conf(r)->gzip_vary != 0
        && !add_to_vary(r, "Accept-Encoding")) {
        return false;
    }
#endif
    return add_to_vary(r, "Origin");
}

// May be called twice for one response: nginx's range filter can turn a
// response into an error after its headers are complete.
bool set_cors_headers(ngx_http_request_t* r, const CorsPolicy& policy) noexcept
{
    remove_headers(r, [](std::string_view name) {
        return api::starts_with_ignoring_case(name, "Access-Control-");
    });
    if (!policy.any && !vary_by_origin(r)) {
        return false;
    }
    const auto origin = allowed_origin(r, policy);
    if (origin.empty()) {
        return true;
    }
    if (!add_header(r, "Access-Control-Allow-Origin", origin)) {
        return false;
    }
    const RequestInfo* info = find_request_info(r);
    if (info == nullptr || info->preflight_methods.empty()) {
        const LocConf& conf =
            info != nullptr ? rate_headers_conf(r, *info) : governing_conf(r);
        return add_header(r, "Access-Control-Expose-Headers",
                          conf.cors_exposed_headers);
    }
    return add_header(r, "Access-Control-Allow-Methods",
                      info->preflight_methods)
           && add_header(r, "Access-Control-Allow-Headers",
                         governing_conf(r).cors_request_headers)
           && add_header(r, "Access-Control-Max-Age", "600");
}

ngx_int_t cors_header_filter(ngx_http_request_t* r) noexcept
{
    const bool applies =
        filters_enabled && r == r->main && main_conf(r)->has_cors;
    const CorsPolicy* policy = applies ? policy_of(r) : nullptr;
    return policy == nullptr || set_cors_headers(r, *policy)
               ? next_cors_filter(r)
               : NGX_ERROR;
}

bool is_preflight(ngx_http_request_t* r) noexcept
{
    const CorsPolicy* policy = policy_of(r);
    bool repeated = false;
    return policy != nullptr && origin_of(r) != nullptr
           && find_header(r, "Access-Control-Request-Method", repeated)
                  != nullptr
           && !allowed_origin(r, *policy).empty();
}

ngx_int_t send_preflight_response(ngx_http_request_t* r)
{
    RequestInfo* info = ensure_request_info(r);
    if (info == nullptr) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    service::Response response;
    response.status = NGX_HTTP_NO_CONTENT;
    info->preflight_methods = kGuardMethods;
    if (r->content_handler == content_handler
        || r->content_handler == admin_handler) {
        const std::string_view path = ngx_base::view(r->uri);
        const std::string& base = loc_conf(r)->service.base_path;
        const bool is_admin = r->content_handler == admin_handler;
        response.allow =
            is_admin ? api::admin_route(api::Method::options, path, base).allow
                     : api::route(api::Method::options, path, base).allow;
        // Of an unknown path, what the API has elsewhere: the page then sees
        // the 404.
        info->preflight_methods = !response.allow.empty() ? response.allow
                                  : is_admin              ? kGuardMethods
                                                          : kApiMethods;
    } else if (r->content_handler == usage_handler) {
        response.allow = service::kUsageMethods;
        info->preflight_methods = response.allow;
    }
    info->entered.handled_in = info->entered.conf;
    discard_body(r);
    return send_response(r, *info, response);
}

// Runs in the access phase, before the handlers of nginx's own modules:
// browsers send no credentials with a preflight, so auth_basic, auth_request
// and limit_except would refuse it. limit_req and limit_conn have already
// counted it.
ngx_int_t answer_preflight(ngx_http_request_t* r) noexcept
{
    if (r->method != NGX_HTTP_OPTIONS || !is_in_service(r)
        || !is_preflight(r)) {
        return NGX_DECLINED;
    }
    ngx_http_finalize_request(
        r, run_handler(r, [r] { return send_preflight_response(r); }));
    return NGX_DONE;
}

}  // namespace

void install_cors_filter() noexcept
{
    next_cors_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = cors_header_filter;
}

ngx_int_t answer_preflights(ngx_conf_t* cf) noexcept
{
    return add_phase_handler(cf, NGX_HTTP_ACCESS_PHASE, answer_preflight);
}

}  // namespace petstore::ngx
