#include "request_info.h"

#include "../module.h"
#include "../nginx/pool.h"

namespace petstore::ngx {

// An internal redirect clears the contexts of all modules, but not the pool.
RequestInfo* find_request_info(ngx_http_request_t* r) noexcept
{
    auto* info = static_cast<RequestInfo*>(
        ngx_http_get_module_ctx(r->main, ngx_http_petstore_module));
    if (info == nullptr) {
        info = find_in_pool<RequestInfo>(r->pool);
        if (info != nullptr) {
            ngx_http_set_ctx(r->main, info, ngx_http_petstore_module);
        }
    }
    return info;
}

RequestInfo* ensure_request_info(ngx_http_request_t* r) noexcept
{
    RequestInfo* info = find_request_info(r);
    if (info == nullptr) {
        info = pool_new<RequestInfo>(r->pool);
        if (info != nullptr) {
            info->status_on_entry = r->main->err_status;
        }
        ngx_http_set_ctx(r->main, info, ngx_http_petstore_module);
    }
    return info;
}

}  // namespace petstore::ngx
