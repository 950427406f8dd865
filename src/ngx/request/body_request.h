#pragma once

#include <memory>

#include "../../service/body_source.h"
#include "body_reader.h"
#include "served_request.h"

namespace petstore::ngx {

// A request whose task may read its body.
class BodyRequest : protected ServedRequest, protected service::BodySource {
protected:
    using ServedRequest::ServedRequest;
    ~BodyRequest() = default;

    virtual service::RequestTask& task() noexcept = 0;

private:
    void respond(const service::Response& response) noexcept final;
    void read(std::size_t limit, service::BodyWaiter& waiter) noexcept final;
    void take_body(BodyReader::Result result) noexcept;

    std::unique_ptr<BodyReader> body_;
    service::BodyWaiter* body_waiter_ = nullptr;
};

}  // namespace petstore::ngx
