#include "body_request.h"

#include "../../ngx_base/exception_border.h"
#include "../nginx/bodies.h"
#include "response.h"

namespace petstore::ngx {

namespace {

constexpr ngx_int_t kInternalError = NGX_HTTP_INTERNAL_SERVER_ERROR;

bool append_from_file(std::string& body, const ngx_buf_t& buffer)
{
    const auto size = static_cast<std::size_t>(ngx_buf_size(&buffer));
    const std::size_t before = body.size();
    body.resize(before + size);
    return ngx_read_file(buffer.file, reinterpret_cast<u_char*>(&body[before]),
                         size, buffer.file_pos)
           == static_cast<ssize_t>(size);
}

}  // namespace

void BodyRequest::respond(const service::Response& response) noexcept
{
    if (suspension().is_taken_over()) {
        return;
    }
    discard_body(request());
    suspension().finish(
        send_response(request(), info(), response, task().report().deprecated));
}

void BodyRequest::read(std::size_t limit, service::BodyWaiter& waiter) noexcept
{
    limit_ = limit;
    body_waiter_ = &waiter;
    const ngx_int_t rc =
        ngx_base::guarded(request()->connection->log, kInternalError, [this] {
            return suspension().suspend() ? start() : kInternalError;
        });
    if (rc != NGX_AGAIN) {
        finish_reading(rc);
    }
}

ngx_int_t BodyRequest::start()
{
    ngx_http_request_t* r = request();
    BodyRequest*& reader = info().body_reader;
    BodyRequest* const before = reader;
    // A post_action or an error page leads here after another handler has
    // consumed the body, or a part of it. The rest alone is not a body.
    if (r->reading_body || (r == r->main && before != nullptr)) {
        return NGX_HTTP_BAD_REQUEST;
    }
    reader = this;

    r->request_body_no_buffering = 1;
    starting_ = true;
    const ngx_int_t rc = ngx_http_read_client_request_body(r, on_body);
    starting_ = false;
    if (r != r->main) {
        // For a subrequest, nginx has called on_body() by now. Later calls are
        // for the reader of the main request, which may still be reading.
        reader = before;
    }
    if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
        return rc;
    }
    // ngx_http_read_client_request_body() took a reference, but the suspension
    // holds the request already.
    r->main->count--;
    if (!arrived_) {
        return NGX_AGAIN;
    }
    const ngx_int_t taken = take();
    return taken == NGX_OK && r->reading_body ? read_more() : taken;
}

// nginx calls this as soon as data is available. If a whole body arrived with
// an HTTP/2 request, nginx buffers it and calls this from a later event.
void BodyRequest::on_body(ngx_http_request_t* r) noexcept
{
    BodyRequest& self = *find_request_info(r)->body_reader;
    if (self.starting_) {
        self.arrived_ = true;
    } else {
        self.resume();
    }
}

// Consumes what nginx has read so far. A body that nginx buffers is complete
// and may have other readers: a request and its mirror share the buffers.
ngx_int_t BodyRequest::take()
{
    ngx_http_request_t* r = request();
    if (r->request_body == nullptr) {
        return NGX_OK;
    }
    const bool unbuffered = r->request_body_no_buffering;
    for (auto* link = r->request_body->bufs; link; link = link->next) {
        ngx_buf_t& buffer = *link->buf;
        const auto size = static_cast<std::size_t>(ngx_buf_size(&buffer));
        if (body_.size() + size > limit_) {
            return NGX_DECLINED;
        }
        if (!buffer.in_file) {
            body_.append(reinterpret_cast<char*>(buffer.pos), size);
        } else if (!append_from_file(body_, buffer)) {
            return kInternalError;
        }
        if (unbuffered) {  // nginx may reuse the memory
            buffer.file_pos = buffer.file_last;
            buffer.pos = buffer.last;
        }
    }
    if (unbuffered) {
        r->request_body->bufs = nullptr;
    }
    return NGX_OK;
}

ngx_int_t BodyRequest::read_more()
{
    ngx_http_request_t* r = request();
    for (;;) {
        const std::size_t before = body_.size();
        const ngx_int_t rc = ngx_http_read_unbuffered_request_body(r);
        if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
            return rc;
        }
        const ngx_int_t taken = take();
        if (taken != NGX_OK || rc == NGX_OK) {
            return taken;
        }
        // NGX_AGAIN can also mean that nginx's buffer was full; take() has
        // emptied it.
        if (body_.size() == before) {
            break;
        }
    }
    r->read_event_handler = on_readable;
    return NGX_AGAIN;
}

void BodyRequest::on_readable(ngx_http_request_t* r) noexcept
{
    find_request_info(r)->body_reader->resume();
}

void BodyRequest::resume() noexcept
{
    ngx_http_request_t* r = request();
    const ngx_int_t rc =
        ngx_base::guarded(r->connection->log, kInternalError, [&] {
            return r->reading_body ? read_more() : take();
        });
    if (rc != NGX_AGAIN) {
        r->read_event_handler = ngx_http_block_reading;
        finish_reading(rc);
    }
}

void BodyRequest::finish_reading(ngx_int_t rc) noexcept
{
    using Result = service::BodyWaiter::Result;
    ngx_http_request_t* r = request();
    switch (rc) {
    case NGX_OK:
        r->read_event_handler = ngx_http_test_reading;
        return body_waiter_->on_body(Result::complete, body_);
    case NGX_DECLINED:
        r->keepalive = 0;
        return body_waiter_->on_body(Result::too_large, {});
    case NGX_HTTP_REQUEST_TIME_OUT:
        r->keepalive = 0;
        return body_waiter_->on_body(Result::timed_out, {});
    default:
        task().finish();
        return suspension().finish(rc);
    }
}

}  // namespace petstore::ngx
