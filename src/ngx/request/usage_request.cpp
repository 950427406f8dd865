#include "usage_request.h"

#include "../nginx/bodies.h"
#include "../worker/worker.h"
#include "response.h"
#include "serve.h"

namespace petstore::ngx {

UsageRequest::UsageRequest(ngx_http_request_t* r, RequestInfo& info,
                           const LocConf& conf, Worker& worker)
    : ServedRequest(r, info, conf, Suspension::Phase::content),
      task_(context(conf, worker))
{}

ngx_int_t UsageRequest::run() noexcept
{
    return run_task(task_);
}

void UsageRequest::respond(const service::Response& response) noexcept
{
    if (suspension().is_taken_over()) {
        return;
    }
    discard_body(request());
    suspension().finish(send_response(request(), info(), false, response));
}

void UsageRequest::release() noexcept
{
    Worker::current()->usage_requests.end(*this);
}

ngx_int_t usage_handler(ngx_http_request_t* r) noexcept
{
    return serve<UsageRequest>(r, &Worker::usage_requests);
}

}  // namespace petstore::ngx
