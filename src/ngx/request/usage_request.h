#pragma once

#include "../../redis/in_flight.h"
#include "../../service/get_usage.h"
#include "served_request.h"

namespace petstore::ngx {

class Worker;

// A request to a location with petstore_usage. Owned by the Worker until nginx
// has freed the request and Redis has replied to all commands sent for it.
class UsageRequest final : public redis::InFlight<UsageRequest>::Item,
                           private ServedRequest {
public:
    UsageRequest(ngx_http_request_t* r, RequestInfo& info, const LocConf& conf,
                 Worker& worker);

    // Returns the content handler's result.
    ngx_int_t run() noexcept;

    // Called when nginx frees the request.
    void abandon() noexcept { task_.abandon(); }

private:
    void respond(const service::Response& response) noexcept override;
    void release() noexcept override;

    service::GetUsage task_;
};

// The content handler of petstore_usage.
ngx_int_t usage_handler(ngx_http_request_t* r) noexcept;

}  // namespace petstore::ngx
