#include "body_reader.h"

#include "../../ngx_base/exception_border.h"
#include "request_info.h"

namespace petstore::ngx {

namespace {

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

BodyReader::Result BodyReader::start(ngx_http_request_t* r, std::size_t limit,
                                     void* owner, Finished finished)
{
    limit_ = limit;
    owner_ = owner;
    finished_ = finished;
    RequestInfo& info = *request_info(r, false);
    BodyReader* const before = info.body_reader;
    // A post_action or an error page leads here after another handler has
    // consumed the body, or a part of it. The rest alone is not a body.
    if (r->reading_body || (r == r->main && before != nullptr)) {
        status_ = NGX_HTTP_BAD_REQUEST;
        return Result::failed;
    }
    info.body_reader = this;

    r->request_body_no_buffering = 1;
    starting_ = true;
    const ngx_int_t rc = ngx_http_read_client_request_body(r, on_body);
    starting_ = false;
    if (r != r->main) {
        // For a subrequest, nginx has called on_body() by now. Later calls are
        // for the reader of the main request, which may still be reading.
        info.body_reader = before;
    }
    if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
        status_ = rc;
        return Result::failed;
    }
    // ngx_http_read_client_request_body() took a reference, but the caller
    // holds the request already.
    r->main->count--;
    return arrived_ ? proceed(r) : Result::pending;
}

// nginx calls this as soon as data is available. If a whole body arrived with
// an HTTP/2 request, nginx buffers it and calls this from a later event.
void BodyReader::on_body(ngx_http_request_t* r) noexcept
{
    BodyReader& self = *request_info(r, false)->body_reader;
    if (self.starting_) {
        self.arrived_ = true;
    } else {
        self.resume(r);
    }
}

BodyReader::Result BodyReader::proceed(ngx_http_request_t* r)
{
    const Result result = take(r);
    return result == Result::done && r->reading_body ? read_more(r) : result;
}

// Consumes what nginx has read so far. A body that nginx buffers is complete
// and may have other readers: a request and its mirror share the buffers.
BodyReader::Result BodyReader::take(ngx_http_request_t* r)
{
    if (r->request_body == nullptr) {
        return Result::done;
    }
    const bool unbuffered = r->request_body_no_buffering;
    for (auto* link = r->request_body->bufs; link; link = link->next) {
        ngx_buf_t& buffer = *link->buf;
        const auto size = static_cast<std::size_t>(ngx_buf_size(&buffer));
        if (body_.size() + size > limit_) {
            return Result::too_large;
        }
        if (buffer.in_file) {
            if (!append_from_file(body_, buffer)) {
                status_ = NGX_HTTP_INTERNAL_SERVER_ERROR;
                return Result::failed;
            }
        } else {
            body_.append(reinterpret_cast<char*>(buffer.pos), size);
        }
        if (unbuffered) {  // nginx may reuse the memory
            buffer.file_pos = buffer.file_last;
            buffer.pos = buffer.last;
        }
    }
    if (unbuffered) {
        r->request_body->bufs = nullptr;
    }
    return Result::done;
}

BodyReader::Result BodyReader::read_more(ngx_http_request_t* r)
{
    for (;;) {
        const std::size_t before = body_.size();
        const ngx_int_t rc = ngx_http_read_unbuffered_request_body(r);
        if (rc == NGX_HTTP_REQUEST_TIME_OUT) {
            return Result::timed_out;
        }
        if (rc >= NGX_HTTP_SPECIAL_RESPONSE) {
            status_ = rc;
            return Result::failed;
        }
        const Result result = take(r);
        if (result != Result::done || rc == NGX_OK) {
            return result;
        }
        // NGX_AGAIN can also mean that nginx's buffer was full; take() has
        // emptied it.
        if (body_.size() == before) {
            break;
        }
    }
    r->read_event_handler = on_readable;
    return Result::pending;
}

void BodyReader::on_readable(ngx_http_request_t* r) noexcept
{
    request_info(r, false)->body_reader->resume(r);
}

void BodyReader::resume(ngx_http_request_t* r) noexcept
{
    status_ = NGX_HTTP_INTERNAL_SERVER_ERROR;
    const Result result =
        ngx_base::guarded(r->connection->log, Result::failed, [this, r] {
            return r->reading_body ? read_more(r) : take(r);
        });
    if (result != Result::pending) {
        r->read_event_handler = ngx_http_block_reading;
        finished_(owner_, result);
    }
}

}  // namespace petstore::ngx
