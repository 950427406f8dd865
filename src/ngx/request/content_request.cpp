#include "content_request.h"

#include "../module.h"
#include "../nginx/handlers.h"
#include "../worker/worker.h"
#include "request_info.h"

namespace petstore::ngx {

template <>
service::ApiRequest
ContentRequest<service::ApiRequest>::make_task(const LocConf& conf,
                                               Worker& worker)
{
    return {context(conf, worker), *this};
}

template <>
service::GetUsage
ContentRequest<service::GetUsage>::make_task(const LocConf& conf,
                                             Worker& worker)
{
    return service::GetUsage(context(conf, worker));
}

template <>
service::AdminApiRequest
ContentRequest<service::AdminApiRequest>::make_task(const LocConf& conf,
                                                    Worker& worker)
{
    return {context(conf, worker), *this, worker.admin(*conf.admin)};
}

namespace {

template <typename Request>
ngx_int_t serve(ngx_http_request_t* r,
                redis::InFlight<Request> Worker::*list) noexcept
{
    return run_handler(r, [&]() -> ngx_int_t {
        const LocConf& conf = *loc_conf(r);
        RequestInfo* info = ensure_request_info(r);
        ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(r, 0);
        Worker* worker = Worker::current();
        if (info == nullptr || cleanup == nullptr || worker == nullptr) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
        if (r == r->main) {
            info->entered.handled_in = info->entered.conf;
            info->entered.served = true;
        }
        auto& requests = worker->*list;
        Request& request = requests.start(r, *info, conf, *worker, requests);
        cleanup->data = &request;
        cleanup->handler = [](void* data) {
            static_cast<Request*>(data)->abandon();
        };
        return request.run();
    });
}

}  // namespace

ngx_int_t content_handler(ngx_http_request_t* r) noexcept
{
    return serve(r, &Worker::content_requests);
}

ngx_int_t usage_handler(ngx_http_request_t* r) noexcept
{
    return serve(r, &Worker::usage_requests);
}

ngx_int_t admin_handler(ngx_http_request_t* r) noexcept
{
    return serve(r, &Worker::admin_requests);
}

}  // namespace petstore::ngx
