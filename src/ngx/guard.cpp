#include "guard.h"

#include "../ngx_base/exception_border.h"
#include "health.h"
#include "module.h"
#include "phase_handler.h"
#include "response.h"
#include "status.h"
#include "worker.h"

namespace petstore::ngx {

namespace {

ngx_int_t guard(ngx_http_request_t* r, const LocConf& conf)
{
    RequestInfo* info = request_info(r, true);
    if (info == nullptr) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    for (auto* guarded = info->guarded; guarded; guarded = guarded->next) {
        if (guarded->is_of(r)) {
            return guarded->take_verdict();
        }
    }
    info->in_service |= r == r->main;
    info->has_guard |= r == r->main;
    if (info->refused) {
        return NGX_DECLINED;  // this is the error page of the refusal
    }
    ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(r, 0);
    Worker* worker = Worker::current();
    if (cleanup == nullptr || worker == nullptr) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    return worker->guarded_requests
        .start(r, *info, conf, worker->storage(conf.storage), *cleanup)
        .run();
}

ngx_int_t phase_handler(ngx_http_request_t* r) noexcept
{
    if (!is_in_guarded_location(r) || r->content_handler == content_handler) {
        return NGX_DECLINED;
    }
    return guarded(r->connection->log,
                   static_cast<ngx_int_t>(NGX_HTTP_INTERNAL_SERVER_ERROR),
                   [r] { return guard(r, *loc_conf(r)); });
}

}  // namespace

// Checks the request's handler, not its location, because an `if` or
// limit_except in the location may have a different handler.
bool is_in_guarded_location(ngx_http_request_t* r) noexcept
{
    return loc_conf(r)->guard && r->content_handler != status_handler
           && r->content_handler != live_handler
           && r->content_handler != ready_handler;
}

// Phase handlers run in reverse order of registration, so this one runs before
// try_files and mirror, which are built into nginx.
ngx_int_t install_guard(ngx_conf_t* cf) noexcept
{
    return add_phase_handler(cf, NGX_HTTP_PRECONTENT_PHASE, phase_handler);
}

}  // namespace petstore::ngx
