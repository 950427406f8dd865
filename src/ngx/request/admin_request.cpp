#include "admin_request.h"

#include "../worker/worker.h"
#include "serve.h"

namespace petstore::ngx {

AdminRequest::AdminRequest(ngx_http_request_t* r, RequestInfo& info,
                           const LocConf& conf, Worker& worker)
    : BodyRequest(r, info, conf, Suspension::Phase::content),
      task_(context(conf, worker), *this, worker.admin(*conf.admin))
{}

ngx_int_t AdminRequest::run() noexcept
{
    return run_task(task_);
}

void AdminRequest::release() noexcept
{
    Worker::current()->admin_requests.end(*this);
}

ngx_int_t admin_handler(ngx_http_request_t* r) noexcept
{
    return serve<AdminRequest>(r, &Worker::admin_requests);
}

}  // namespace petstore::ngx
