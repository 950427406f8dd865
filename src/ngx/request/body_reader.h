#pragma once

#include <string>

#include "../../ngx_base/ngx.h"

namespace petstore::ngx {

// Reads a request's body into memory, up to a limit, without temporary files.
// Reads unbuffered, so no more than the limit ever accumulates. Copies a body
// that another module has already read, possibly into a file.
class BodyReader {
public:
    enum class Result {
        done,     // body() is complete
        pending,  // `finished` will be called
        too_large,
        timed_out,
        failed,  // malformed body, client gone, out of memory: see status()
    };

    // Called once after `pending`, with start()'s owner, from an event of the
    // client's connection.
    using Finished = void (*)(void* owner, Result result);

    // Starts reading; passes `owner` to `finished`. The caller must have
    // suspended the request and incremented r->main->count.
    Result start(ngx_http_request_t* r, std::size_t limit, void* owner,
                 Finished finished);

    std::string& body() noexcept { return body_; }

    // After `failed`: the status to finalize the request with.
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
