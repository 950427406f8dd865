#pragma once

#include <utility>

#include "../../ngx_base/exception_border.h"
#include "../module.h"

namespace petstore::ngx {

// Registers a handler of a phase. Call in postconfiguration.
inline ngx_int_t add_phase_handler(ngx_conf_t* cf, ngx_http_phases phase,
                                   ngx_http_handler_pt handler) noexcept
{
    auto* position = static_cast<ngx_http_handler_pt*>(
        ngx_array_push(&core_main_conf(cf).phases[phase].handlers));
    if (position == nullptr) {
        return NGX_ERROR;
    }
    *position = handler;
    return NGX_OK;
}

// Runs the body of a handler of requests. An exception becomes a 500.
template <typename Body>
ngx_int_t run_handler(ngx_http_request_t* r, Body&& body) noexcept
{
    return ngx_base::guarded(r->connection->log,
                             ngx_int_t{NGX_HTTP_INTERNAL_SERVER_ERROR},
                             std::forward<Body>(body));
}

}  // namespace petstore::ngx
