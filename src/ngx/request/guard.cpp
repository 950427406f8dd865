#include "guard.h"

#include "../../service/api_request.h"
#include "../hooks.h"
#include "../module.h"
#include "../nginx/handlers.h"
#include "../worker/worker.h"
#include "entered_location.h"
#include "http_request.h"
#include "identity.h"
#include "request_info.h"

namespace petstore::ngx {

namespace {

ngx_int_t guard(ngx_http_request_t* r, const LocConf& conf)
{
    RequestInfo* info = ensure_request_info(r);
    if (info == nullptr) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    // A URI without "/" at its start, from `rewrite` or X-Accel-Redirect,
    // matches no location.
    if (!conf.storage) {
        ngx_log_error(
            NGX_LOG_ERR, r->connection->log, 0,
            "petstore: \"%V\" matches no location of a guarded server, and \"location /\" every path: the request is refused",
            &r->uri);
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    // An `if` or limit_except of the API's location, with another handler.
    if (refuse_too_large_body(r, *info, conf)) {
        return NGX_HTTP_REQUEST_ENTITY_TOO_LARGE;
    }
    GuardState& state = info->guard;
    for (auto* pass = state.passes; pass != nullptr; pass = pass->next) {
        if (pass->is_of(r)) {
            return pass->take_verdict();
        }
    }
    if (is_page_of_refusal(r, *info, conf)) {
        return hide_identity(r, *info, conf) ? NGX_DECLINED
                                             : NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    if (r == r->main) {
        info->entered.handled_in = info->entered.conf;
        if (state.first == nullptr) {
            state.first = &conf;
        }
    }
    ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(r, 0);
    Worker* worker = Worker::current();
    if (cleanup == nullptr || worker == nullptr) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    return worker->guarded_requests.start(r, *info, conf, *worker, *cleanup)
        .run();
}

// Whether the API answers the request without admission.
bool needs_no_key(ngx_http_request_t* r, const LocConf& conf) noexcept
{
    const HttpRequest request(r, conf);
    return service::ApiRequest::needs_no_key(
        request.method(),
        api::route(request.method(), request.path(), conf.service.base_path));
}

// As the content phase does, but before try_files and mirror see the request.
ngx_int_t run_content_handler(ngx_http_request_t* r) noexcept
{
    r->write_event_handler = ngx_http_request_empty_handler;
    ngx_http_finalize_request(r, r->content_handler(r));
    return NGX_DONE;
}

ngx_int_t phase_handler(ngx_http_request_t* r) noexcept
{
    const LocConf& conf = *loc_conf(r);
    if (admits_itself(r->content_handler)) {
        return run_content_handler(r);
    }
    if (!is_in_guarded_location(r)) {
        return NGX_DECLINED;
    }
    if (r->content_handler == content_handler) {
        if (conf.admits_in_content) {
            return NGX_DECLINED;
        }
        if (needs_no_key(r, conf)) {
            return run_content_handler(r);
        }
    }
    return run_handler(r, [&] { return guard(r, conf); });
}

}  // namespace

// Checks the request's handler, not its location, because an `if` or
// limit_except in the location may have a different handler.
bool is_in_guarded_location(ngx_http_request_t* r) noexcept
{
    const auto handler = handler_of(r);
    return loc_conf(r)->guard && handler != status_handler
           && !admits_itself(handler) && handler != live_handler
           && handler != ready_handler;
}

// Phase handlers run in reverse order of registration, so this one runs before
// try_files and mirror, which are built into nginx.
ngx_int_t install_guard(ngx_conf_t* cf) noexcept
{
    return add_phase_handler(cf, NGX_HTTP_PRECONTENT_PHASE, phase_handler);
}

}  // namespace petstore::ngx
