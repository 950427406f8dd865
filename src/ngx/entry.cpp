// Where a request has entered the service. nginx may refuse it before the guard
// or the content handler runs, and send an error page from a location of its
// own: without this trace, nothing would be known of the service then.
#include "entry.h"

#include "guard.h"
#include "module.h"
#include "phase_handler.h"
#include "response.h"

namespace petstore::ngx {

namespace {

ngx_int_t remember_entry(ngx_http_request_t* r) noexcept
{
    if (r != r->main) {
        return NGX_DECLINED;
    }
    const bool here = is_in_service(r);
    RequestInfo* info = request_info(r, here);
    if (info == nullptr) {
        return here ? NGX_HTTP_INTERNAL_SERVER_ERROR : NGX_DECLINED;
    }
    if (here) {
        info->entered = loc_conf(r);
    } else if (!info->in_service && !r->error_page && r->err_status == 0) {
        info->entered = nullptr;  // a rewrite has left the service
    }
    return NGX_DECLINED;
}

}  // namespace

bool is_in_service(ngx_http_request_t* r) noexcept
{
    return r->content_handler == content_handler || is_in_guarded_location(r);
}

ngx_int_t install_entry(ngx_conf_t* cf) noexcept
{
    return add_phase_handler(cf, NGX_HTTP_REWRITE_PHASE, remember_entry);
}

const LocConf& governing_conf(ngx_http_request_t* r) noexcept
{
    const RequestInfo* info = request_info(r, false);
    return info == nullptr || info->entered == nullptr || is_in_service(r)
               ? *loc_conf(r)
               : *info->entered;
}

}  // namespace petstore::ngx
