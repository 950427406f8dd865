#pragma once

#include <string>

#include "../../service/body_source.h"
#include "served_request.h"

namespace petstore::ngx {

// A request whose task may read its body: into memory, up to a limit, without
// temporary files. Reads unbuffered, so no more than the limit ever
// accumulates. Copies a body that another module has already read, possibly
// into a file.
class BodyRequest : protected ServedRequest, protected service::BodySource {
protected:
    using ServedRequest::ServedRequest;
    ~BodyRequest() = default;

    virtual service::RequestTask& task() noexcept = 0;

private:
    void respond(const service::Response& response) noexcept final;
    void read(std::size_t limit, service::BodyWaiter& waiter) noexcept final;

    // These return NGX_OK once the body is complete, NGX_AGAIN if an event of
    // the client's connection resumes reading, NGX_DECLINED if the body exceeds
    // the limit, or the status of nginx's error.
    ngx_int_t start();
    ngx_int_t take();
    ngx_int_t read_more();

    void resume() noexcept;
    void finish_reading(ngx_int_t rc) noexcept;
    static void on_body(ngx_http_request_t* r) noexcept;
    static void on_readable(ngx_http_request_t* r) noexcept;

    service::BodyWaiter* body_waiter_ = nullptr;
    std::string body_;
    std::size_t limit_ = 0;
    bool starting_ = false;
    bool arrived_ = false;  // some or all of it, while starting
};

}  // namespace petstore::ngx
