#pragma once

#include "../../redis/in_flight.h"
#include "../../service/api_request.h"
#include "body_request.h"

namespace petstore::ngx {

class Worker;

// A request to a location with `petstore`. Owned by the Worker until nginx has
// freed the request and Redis has replied to all commands sent for it.
class ContentRequest final : public redis::InFlight<ContentRequest>::Item,
                             private BodyRequest {
public:
    ContentRequest(ngx_http_request_t* r, RequestInfo& info,
                   const LocConf& conf, Worker& worker);

    // Returns the content handler's result.
    ngx_int_t run() noexcept;

    // Called when nginx frees the request.
    void abandon() noexcept { task_.abandon(); }

private:
    void release() noexcept override;
    service::Task& task() noexcept override { return task_; }

    service::ApiRequest task_;
};

}  // namespace petstore::ngx
