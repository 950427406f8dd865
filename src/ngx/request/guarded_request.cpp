#include "guarded_request.h"

#include <utility>

#include "../../ngx_base/str.h"
#include "../nginx/bodies.h"
#include "../worker/worker.h"
#include "identity.h"
#include "response_headers.h"

namespace petstore::ngx {

GuardedRequest::GuardedRequest(ngx_http_request_t* r, RequestInfo& info,
                               const LocConf& conf, Worker& worker,
                               ngx_http_cleanup_t& cleanup)
    : ServedRequest(r, info, conf, Suspension::Phase::precontent), conf_(conf),
      task_(context(conf, worker), *this), cleanup_(cleanup)
{
    next = std::exchange(info.guard.passes, this);
    cleanup.data = this;
    cleanup.handler = [](void* data) {
        static_cast<GuardedRequest*>(data)->leave();
    };
}

ngx_int_t GuardedRequest::run() noexcept
{
    ngx_int_t result = NGX_AGAIN;
    task_.enter([&] {
        // Before any verdict: the page of a refusal must not see them either.
        if (hide_identity(request(), info(), conf_)) {
            start(task_);
        } else {
            suspension().finish(NGX_HTTP_INTERNAL_SERVER_ERROR);
        }
        result = take_verdict();
    });
    return result;
}

// Adds the headers that tell the handler who was admitted, by this location: it
// may have another store than others of the client's request. False if out of
// memory.
bool GuardedRequest::shows_identity() noexcept
{
    return !conf_.identity_headers
           || show_identity(request(), task_.admission().key());
}

ngx_int_t GuardedRequest::take_verdict() noexcept
{
    ngx_int_t verdict = suspension().handler_result();
    if ((verdict == NGX_AGAIN && !suspension().suspend())
        || (verdict == NGX_DECLINED && !shows_identity())) {
        verdict = NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    if (verdict != NGX_AGAIN) {
        leave();
    }
    return verdict;
}

// Refuses the request. nginx answers with the status, so that error_page
// applies; the error filter replaces nginx's own page with our body.
void GuardedRequest::respond(const service::Response& response) noexcept
{
    if (suspension().is_taken_over()) {
        return suspension().finish(response.status);
    }
    ngx_http_request_t* r = request();
    if (r == r->main) {
        forget_expected_body(r);
    }
    const bool prepared = (r != r->main || keep_body(response))
                          && add_response_headers(r, response);
    suspension().finish(prepared ? response.status
                                 : NGX_HTTP_INTERNAL_SERVER_ERROR);
}

// For the error filter. False if out of memory.
bool GuardedRequest::keep_body(const service::Response& response) noexcept
{
    GuardRefusal& refusal = info().guard.refusal;
    // With recursive_error_pages, the page of a second refusal may be refused,
    // too, and so on: nginx would answer 500 after ten redirects.
    if (refusal.repeated) {
        request()->error_page = 1;
    }
    refusal.repeated = refusal.status != 0;
    refusal.status = response.status;
    refusal.body = ngx_base::copy(request()->pool, response.body);
    return refusal.body.data != nullptr;
}

void GuardedRequest::admit() noexcept
{
    suspension().finish(NGX_DECLINED);
}

// Called when the request is freed or continues with its verdict. If nginx
// frees it during run(), both call this, and the list no longer exists on the
// second call.
void GuardedRequest::leave() noexcept
{
    if (task_.gone()) {
        return;
    }
    GuardedRequest** link = &info().guard.passes;
    while (*link != this) {
        link = &(*link)->next;
    }
    *link = next;
    cleanup_.handler = nullptr;
    task_.abandon();
}

void GuardedRequest::release() noexcept
{
    Worker::current()->guarded_requests.end(*this);
}

}  // namespace petstore::ngx
