#pragma once

#include "../ngx_base/ngx.h"
#include "config/config.h"

// nginx looks it up by this name. Defined in ngx_http_petstore_module.cpp.
extern "C" {
extern ngx_module_t ngx_http_petstore_module;
}

namespace petstore::ngx {

inline MainConf* main_conf(ngx_http_request_t* r) noexcept
{
    return static_cast<MainConf*>(
        ngx_http_get_module_main_conf(r, ngx_http_petstore_module));
}

inline LocConf* loc_conf(ngx_http_request_t* r) noexcept
{
    return static_cast<LocConf*>(
        ngx_http_get_module_loc_conf(r, ngx_http_petstore_module));
}

// nginx's own settings of the request's location.
inline const ngx_http_core_loc_conf_t*
core_loc_conf(ngx_http_request_t* r) noexcept
{
    return static_cast<const ngx_http_core_loc_conf_t*>(
        ngx_http_get_module_loc_conf(r, ngx_http_core_module));
}

inline const ngx_http_core_main_conf_t*
core_main_conf(ngx_http_request_t* r) noexcept
{
    return static_cast<const ngx_http_core_main_conf_t*>(
        ngx_http_get_module_main_conf(r, ngx_http_core_module));
}

// The same of the block that is being parsed or merged.
inline MainConf& main_conf(ngx_conf_t* cf) noexcept
{
    return *static_cast<MainConf*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_petstore_module));
}

inline ngx_http_core_loc_conf_t& core_loc_conf(ngx_conf_t* cf) noexcept
{
    return *static_cast<ngx_http_core_loc_conf_t*>(
        ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
}

inline ngx_http_core_main_conf_t& core_main_conf(ngx_conf_t* cf) noexcept
{
    return *static_cast<ngx_http_core_main_conf_t*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
}

// Whether the location's name is a path, or the start of one.
inline bool is_plain(const ngx_http_core_loc_conf_t& location) noexcept
{
#if (NGX_PCRE)
    if (location.regex != nullptr) {
        return false;
    }
#endif
    return !location.named && !location.noname;
}

// The server that contains the block.
inline const ngx_http_core_srv_conf_t* server_of(ngx_conf_t* cf) noexcept
{
    return static_cast<const ngx_http_core_srv_conf_t*>(
        ngx_http_conf_get_module_srv_conf(cf, ngx_http_core_module));
}

// Whether the block that is being merged is a server's, not that of a location.
inline bool is_server_level(ngx_conf_t* cf) noexcept
{
    return static_cast<ngx_http_conf_ctx_t*>(cf->ctx)->loc_conf
           == server_of(cf)->ctx->loc_conf;
}

// Whether these settings are those of the server that contains the block.
inline bool is_of_server(ngx_conf_t* cf, const LocConf& conf) noexcept
{
    return &conf
           == server_of(cf)->ctx->loc_conf[ngx_http_petstore_module.ctx_index];
}

// The content handlers of `petstore`, petstore_usage and petstore_admin.
ngx_int_t content_handler(ngx_http_request_t* r) noexcept;
ngx_int_t usage_handler(ngx_http_request_t* r) noexcept;
ngx_int_t admin_handler(ngx_http_request_t* r) noexcept;

// The content handlers of petstore_status, which shows the metrics of this
// host, and of petstore_health.
ngx_int_t status_handler(ngx_http_request_t* r) noexcept;
ngx_int_t live_handler(ngx_http_request_t* r) noexcept;
ngx_int_t ready_handler(ngx_http_request_t* r) noexcept;

}  // namespace petstore::ngx
