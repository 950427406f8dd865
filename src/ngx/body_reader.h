#pragma once

#include <string>

#include "ngx.h"

namespace petstore::ngx {

// Reads a request's body into memory, up to a limit, without temporary files:
// unbuffered, so that more than the limit never piles up anywhere. A body that
// another module has read before, into a file perhaps, is taken from there.
class BodyReader {
public:
    enum class Result {
        done,     // body() is complete
        pending,  // on_finished will be called
        too_large,
        timed_out,
        failed,  // a broken body, a client gone, no memory: see status()
    };

    // Called with the owner and the result, from an event of the client's
    // connection, once after `pending`.
    using Finished = void (*)(void* owner, Result result);

    // Starts reading; `owner` is handed to `finished`. The request must be
    // suspended, with r->main->count raised for it.
    Result start(ngx_http_request_t* r, std::size_t limit, void* owner,
                 Finished finished);

    std::string& body() noexcept { return body_; }

    // Of `failed`: what to finalize the request with.
    ngx_int_t status() const noexcept { return status_; }

private:
    Result proceed(ngx_http_request_t* r);
    Result take(ngx_http_request_t* r);
    Result read_more(ngx_http_request_t* r);
    void resume(ngx_http_request_t* r) noexcept;
    static void on_body(ngx_http_request_t* r) noexcept;
    static void on_readable(ngx_http_request_t* r) noexcept;

    std::string body_;
    std::size_t limit_ = 0;
    ngx_int_t status_ = NGX_OK;
    bool starting_ = false;
    bool arrived_ = false;
    void* owner_ = nullptr;
    Finished finished_ = nullptr;
};

}  // namespace petstore::ngx
