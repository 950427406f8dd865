// Which error pages the guard serves without admission.
#include "../../ngx_base/str.h"
#include "../config/config.h"
#include "../module.h"
#include "guard.h"
#include "request_info.h"

namespace petstore::ngx {

namespace {

// The first location that the request enters after a refusal by the guard, but
// nothing that it leads to (subrequests, X-Accel-Redirect, try_files,
// `rewrite`). A post_action ends every request.
bool is_page_of_guard(ngx_http_request_t* r,
                      const GuardRefusal& refusal) noexcept
{
    return refusal.status != 0
           && (refusal.locations_since == 1 || r->post_action);
}

// A client can provoke many refusals by nginx without a key, and `error_page
// 404 = /index.php` makes the page an application. So only a file at a fixed
// URI passes, with the status of an error, where the guard is inherited.
bool is_file_of_error_page(ngx_http_request_t* r, const LocConf& conf) noexcept
{
    return r->err_status >= NGX_HTTP_BAD_REQUEST
           && r->content_handler == nullptr && !core_loc_conf(r)->named
           && !conf.own_guard && !conf.passes_on
           && conf.main->error_pages.count(ngx_base::view(r->uri)) != 0;
}

}  // namespace

bool is_page_of_refusal(ngx_http_request_t* r, const RequestInfo& info,
                        const LocConf& conf) noexcept
{
    if (r != r->main) {
        return false;
    }
    return info.guard.first == nullptr
               ? is_file_of_error_page(r, conf)
               : is_page_of_guard(r, info.guard.refusal);
}

}  // namespace petstore::ngx
