#include "content_request.h"

#include "../worker/worker.h"
#include "serve.h"

namespace petstore::ngx {

ContentRequest::ContentRequest(ngx_http_request_t* r, RequestInfo& info,
                               const LocConf& conf, Worker& worker)
    : BodyRequest(r, info, conf, Suspension::Phase::content),
      task_(context(conf, worker), *this)
{}

ngx_int_t ContentRequest::run() noexcept
{
    return run_task(task_);
}

void ContentRequest::release() noexcept
{
    Worker::current()->content_requests.end(*this);
}

ngx_int_t content_handler(ngx_http_request_t* r) noexcept
{
    return serve<ContentRequest>(r, &Worker::content_requests);
}

}  // namespace petstore::ngx
