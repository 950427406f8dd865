// Where a request has entered the service. nginx may refuse it before the guard
// or the content handler runs, and send an error page from a location of its
// own: without this trace, nothing would be known of the service then.
#include "entry.h"

#include "../module.h"
#include "guard.h"
#include "phase_handler.h"
#include "response.h"

namespace petstore::ngx {

namespace {

// nginx has redirected the request. From the location that it has entered if
// the URI changed once since then; else, a `rewrite` had left that one.
void note_redirect(const ngx_http_request_t* r, RequestInfo& info) noexcept
{
    if (info.entered == nullptr || info.in_service || info.redirected) {
        return;
    }
    if (r->uri_changes + ngx_uint_t{1} == info.entered_at) {
        info.redirected = true;
    } else {
        info.entered = nullptr;
    }
}

// nginx runs this phase once for each internal redirect to a URI, but not after
// `rewrite`, nor for named locations.
ngx_int_t server_rewrite_handler(ngx_http_request_t* r) noexcept
{
    RequestInfo* info = r == r->main ? request_info(r, false) : nullptr;
    if (info != nullptr) {
        note_redirect(r, *info);
    }
    return NGX_DECLINED;
}

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
    if (info->refused && info->locations_after_refusal < 2) {
        ++info->locations_after_refusal;
    }
    if (here) {
        info->entered = loc_conf(r);
        info->entered_at = r->uri_changes;
        info->redirected = false;
    } else if (core_loc_conf(r)->named) {
        note_redirect(r, *info);
    } else if (!info->redirected && !info->in_service) {
        info->entered = nullptr;  // a rewrite has left the service
    }
    return NGX_DECLINED;
}

// nullptr if the request is not on its way from a location of the service.
const LocConf* entered_conf(ngx_http_request_t* r) noexcept
{
    const RequestInfo* info = request_info(r, false);
    return info != nullptr && (info->in_service || info->redirected)
               ? info->entered
               : nullptr;
}

}  // namespace

bool is_in_service(ngx_http_request_t* r) noexcept
{
    return r->content_handler == content_handler || is_in_guarded_location(r);
}

bool is_of_service(ngx_http_request_t* r) noexcept
{
    return r == r->main && (is_in_service(r) || entered_conf(r) != nullptr);
}

ngx_int_t install_entry(ngx_conf_t* cf) noexcept
{
    const bool added =
        add_phase_handler(cf, NGX_HTTP_SERVER_REWRITE_PHASE,
                          server_rewrite_handler)
            == NGX_OK
        && add_phase_handler(cf, NGX_HTTP_REWRITE_PHASE, remember_entry)
               == NGX_OK;
    return added ? NGX_OK : NGX_ERROR;
}

const LocConf& governing_conf(ngx_http_request_t* r) noexcept
{
    const LocConf* entered = is_in_service(r) ? nullptr : entered_conf(r);
    return entered != nullptr ? *entered : *loc_conf(r);
}

}  // namespace petstore::ngx
