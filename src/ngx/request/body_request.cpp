#include "body_request.h"

#include "../../ngx_base/exception_border.h"
#include "../nginx/bodies.h"
#include "response.h"

namespace petstore::ngx {

void BodyRequest::respond(const service::Response& response) noexcept
{
    if (suspension().is_taken_over()) {
        return;
    }
    discard_body(request());
    suspension().finish(
        send_response(request(), info(), task().report().deprecated, response));
}

void BodyRequest::read(std::size_t limit, service::BodyWaiter& waiter) noexcept
{
    body_waiter_ = &waiter;
    const auto result = ngx_base::guarded(
        request()->connection->log, BodyReader::Result::failed, [&] {
            body_ = std::make_unique<BodyReader>();
            if (!suspension().suspend()) {
                return BodyReader::Result::failed;
            }
            return body_->start(request(), limit, this,
                                [](void* self, BodyReader::Result result) {
                                    static_cast<BodyRequest*>(self)->take_body(
                                        result);
                                });
        });
    if (result != BodyReader::Result::pending) {
        take_body(result);
    }
}

void BodyRequest::take_body(BodyReader::Result result) noexcept
{
    using Result = service::BodyWaiter::Result;
    ngx_http_request_t* r = request();
    switch (result) {
    case BodyReader::Result::done:
        r->read_event_handler = ngx_http_test_reading;
        return body_waiter_->on_body(Result::complete, body_->body());
    case BodyReader::Result::too_large:
        r->keepalive = 0;
        return body_waiter_->on_body(Result::too_large, {});
    case BodyReader::Result::timed_out:
        r->keepalive = 0;
        return body_waiter_->on_body(Result::timed_out, {});
    case BodyReader::Result::failed:
    case BodyReader::Result::pending:
        task().finish();
        return suspension().finish(body_ != nullptr
                                       ? body_->status()
                                       : NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
}

}  // namespace petstore::ngx
