#include "entered_location.h"

#include <algorithm>

#include "../hooks.h"
#include "../module.h"
#include "../nginx/bodies.h"
#include "../nginx/handlers.h"
#include "guard.h"
#include "identity.h"
#include "request_info.h"

namespace petstore::ngx {

namespace {

// Call when a `rewrite` may have left the location before it handled the
// request.
void leave(EnteredLocation& entered) noexcept
{
    if (entered.first == entered.conf) {
        entered.first = entered.handled_in;
    }
    entered.conf = entered.handled_in;
}

// Call when nginx has redirected the request. If the URI has changed more than
// once since the entry, a `rewrite` had already left the location.
void note_redirect(const ngx_http_request_t* r,
                   EnteredLocation& entered) noexcept
{
    if (entered.conf == entered.handled_in || entered.redirected) {
        return;
    }
    // nginx counts uri_changes down.
    if (r->uri_changes + ngx_uint_t{1} == entered.uri_changes) {
        entered.redirected = true;
    } else {
        leave(entered);
    }
}

// nginx runs this phase once for each internal redirect to a URI, but not after
// `rewrite`, nor for named locations.
ngx_int_t server_rewrite_handler(ngx_http_request_t* r) noexcept
{
    RequestInfo* info = r == r->main ? find_request_info(r) : nullptr;
    if (info != nullptr) {
        note_redirect(r, info->entered);
    }
    return NGX_DECLINED;
}

// An error page of the service gets no key and no identity, even if nginx
// refused the request before the module saw it; nor does a location to which a
// script, such as Lua's, has redirected the request by then.
ngx_int_t hide_from_page(ngx_http_request_t* r, RequestInfo& info) noexcept
{
    const EnteredLocation& entered = info.entered;
    // Where it was not redirected, a guard has done so itself.
    if (entered.conf == nullptr || (!entered.redirected && !entered.served)) {
        return NGX_DECLINED;
    }
    return run_handler(r, [&]() -> ngx_int_t {
        return hide_identity(r, info, *entered.conf)
                   ? NGX_DECLINED
                   : NGX_HTTP_INTERNAL_SERVER_ERROR;
    });
}

ngx_int_t enter_location(ngx_http_request_t* r) noexcept
{
    const bool here = is_in_service(r);
    RequestInfo* info = here ? ensure_request_info(r) : find_request_info(r);
    if (info == nullptr) {
        return here ? NGX_HTTP_INTERNAL_SERVER_ERROR : NGX_DECLINED;
    }
    info->status_on_entry = r->err_status;
    GuardRefusal& refusal = info->guard.refusal;
    if (refusal.status != 0 && refusal.locations_since < 2) {
        ++refusal.locations_since;
    }
    EnteredLocation& entered = info->entered;
    const LocConf* left = nullptr;
    if (core_loc_conf(r)->named) {
        left = entered.redirected ? nullptr : entered.conf;
        note_redirect(r, entered);
    } else if (!entered.redirected) {
        leave(entered);
    }
    if (here) {
        entered.conf = loc_conf(r);
        // Not a location that only sends the page of another one's error.
        if (entered.first == nullptr && r->err_status < NGX_HTTP_BAD_REQUEST) {
            entered.first = entered.conf;
        }
        entered.uri_changes = r->uri_changes;
        entered.redirected = false;
    }
    // nginx checks no length when it enters a named location; an API does,
    // after authentication.
    if (left != nullptr && loc_conf(r)->lifted_body_limit == 0
        && refuse_too_large_body(r, *info, *left)) {
        return NGX_HTTP_REQUEST_ENTITY_TOO_LARGE;
    }
    return here ? NGX_DECLINED : hide_from_page(r, *info);
}

ngx_int_t rewrite_handler(ngx_http_request_t* r) noexcept
{
    return r == r->main ? enter_location(r) : NGX_DECLINED;
}

// After `return` and `rewrite`, and before any module of nginx, such as
// limit_req, can refuse the request.
ngx_int_t preaccess_handler(ngx_http_request_t* r) noexcept
{
    RequestInfo* info = r == r->main ? find_request_info(r) : nullptr;
    if (info != nullptr && info->entered.reached == nullptr
        && r->err_status < NGX_HTTP_BAD_REQUEST && is_in_service(r)) {
        info->entered.reached = loc_conf(r);
    }
    return NGX_DECLINED;
}

// The handler of the rewrite module; the same in each configuration.
ngx_http_handler_pt rewrite_module_handler = nullptr;

// In the place of that handler, right behind ours. For a request in no
// location, nginx's does nothing if it is the first of the phase, as it is
// without ours; else it would run the server's directives once more. See
// ngx_http_rewrite_handler() and location_rewrite_index.
ngx_int_t rewrite_once(ngx_http_request_t* r) noexcept
{
    const auto& server = *static_cast<ngx_http_core_srv_conf_t*>(
        ngx_http_get_module_srv_conf(r, ngx_http_core_module));
    const auto& engine = core_main_conf(r)->phase_engine;
    const bool would_be_first =
        r->phase_handler
            == static_cast<ngx_int_t>(engine.location_rewrite_index + 1)
        && engine.handlers[engine.location_rewrite_index].handler
               == rewrite_handler;
    return would_be_first && r->loc_conf == server.ctx->loc_conf
               ? NGX_DECLINED
               : rewrite_module_handler(r);
}

void replace_rewrite_module_handler(ngx_conf_t* cf) noexcept
{
    const auto& core = core_main_conf(cf);
    const auto& server = core.phases[NGX_HTTP_SERVER_REWRITE_PHASE].handlers;
    const auto& location = core.phases[NGX_HTTP_REWRITE_PHASE].handlers;
    auto* first = static_cast<ngx_http_handler_pt*>(location.elts);
    auto* last = first + location.nelts;
    const auto* of_server = static_cast<ngx_http_handler_pt*>(server.elts);
    // The one in both phases. nginx may be built without it.
    auto* found =
        std::find_first_of(first, last, of_server, of_server + server.nelts);
    if (found != last) {
        rewrite_module_handler = *found;
        *found = rewrite_once;
    }
}

// The location whose error page this may be; nullptr if there is none.
const LocConf* entered_conf(ngx_http_request_t* r) noexcept
{
    const RequestInfo* info = find_request_info(r);
    if (info == nullptr) {
        return nullptr;
    }
    const EnteredLocation& entered = info->entered;
    return entered.redirected ? entered.conf : entered.handled_in;
}

}  // namespace

ngx_http_handler_pt handler_of(ngx_http_request_t* r) noexcept
{
    return r->content_handler != nullptr ? r->content_handler
                                         : core_loc_conf(r)->handler;
}

bool admits_itself(ngx_http_handler_pt handler) noexcept
{
    return handler == usage_handler || handler == admin_handler;
}

bool is_in_service(ngx_http_request_t* r) noexcept
{
    const auto handler = handler_of(r);
    return handler == content_handler || admits_itself(handler)
           || is_in_guarded_location(r);
}

bool belongs_to_service(ngx_http_request_t* r) noexcept
{
    return r == r->main && (is_in_service(r) || entered_conf(r) != nullptr);
}

ngx_int_t track_entered_locations(ngx_conf_t* cf) noexcept
{
    replace_rewrite_module_handler(cf);
    const bool added =
        add_phase_handler(cf, NGX_HTTP_SERVER_REWRITE_PHASE,
                          server_rewrite_handler)
            == NGX_OK
        && add_phase_handler(cf, NGX_HTTP_REWRITE_PHASE, rewrite_handler)
               == NGX_OK
        && add_phase_handler(cf, NGX_HTTP_PREACCESS_PHASE, preaccess_handler)
               == NGX_OK;
    return added ? NGX_OK : NGX_ERROR;
}

const LocConf& governing_conf(ngx_http_request_t* r) noexcept
{
    const LocConf* entered = is_in_service(r) ? nullptr : entered_conf(r);
    return entered != nullptr ? *entered : *loc_conf(r);
}

const LocConf* guarded_conf(ngx_http_request_t* r,
                            const RequestInfo& info) noexcept
{
    if (info.guard.first != nullptr
        || info.service.operation != api::Operation::none) {
        return info.guard.first;
    }
    const EnteredLocation& entered = info.entered;
    const LocConf* conf =
        entered.reached != nullptr ? entered.reached : entered.first;
    // nginx refused the length of the body before it entered the location that
    // it had chosen, perhaps by a `rewrite` of the entered one.
    if (conf == entered.conf && !entered.redirected
        && r->uri_changes != entered.uri_changes) {
        conf = loc_conf(r);
    }
    const bool guards = conf != nullptr && conf->guard && !conf->serves
                        && conf->own_handler == nullptr;
    return guards && info.preflight_methods.empty() ? conf : nullptr;
}

bool refuse_too_large_body(ngx_http_request_t* r, RequestInfo& info,
                           const LocConf& conf) noexcept
{
    // nginx does not set discard_body for HTTP/2 and HTTP/3.
    if (conf.lifted_body_limit == 0
        || r->headers_in.content_length_n <= conf.lifted_body_limit
        || r->discard_body || info.body_refused) {
        return false;
    }
    ngx_log_error(NGX_LOG_ERR, r->connection->log, 0,
                  "client intended to send too large body: %O bytes",
                  r->headers_in.content_length_n);
    info.body_refused = r == r->main;
    discard_body(r);
    return true;
}

}  // namespace petstore::ngx
