#pragma once

#include <memory>

#include "../../redis/in_flight.h"
#include "../../service/api_request.h"
#include "body_reader.h"
#include "served_request.h"

namespace petstore::ngx {

class Worker;

// A request to a location with `petstore`. Owned by the Worker until nginx has
// freed the request and Redis has replied to all commands sent for it.
class ContentRequest final : public redis::InFlight<ContentRequest>::Item,
                             private ServedRequest,
                             private service::BodySource {
public:
    ContentRequest(ngx_http_request_t* r, RequestInfo& info,
                   const LocConf& conf, Worker& worker);

    // Returns the content handler's result.
    ngx_int_t run() noexcept;

    // Called when nginx frees the request.
    void abandon() noexcept { task_.abandon(); }

private:
    void respond(const service::Response& response) noexcept override;
    void read(std::size_t limit, service::BodyWaiter& waiter) noexcept override;
    void release() noexcept override;
    void take_body(BodyReader::Result result) noexcept;

    service::ApiRequest task_;
    std::unique_ptr<BodyReader> body_;
    service::BodyWaiter* body_waiter_ = nullptr;
};

}  // namespace petstore::ngx
