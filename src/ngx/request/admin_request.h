#pragma once

#include "../../redis/in_flight.h"
#include "../../service/admin/admin_api_request.h"
#include "body_request.h"

namespace petstore::ngx {

class Worker;

// A request to a location with petstore_admin. Owned by the Worker until nginx
// has freed the request and Redis has replied to all commands sent for it.
class AdminRequest final : public redis::InFlight<AdminRequest>::Item,
                           private BodyRequest {
public:
    AdminRequest(ngx_http_request_t* r, RequestInfo& info, const LocConf& conf,
                 Worker& worker);

    // Returns the content handler's result.
    ngx_int_t run() noexcept;

    // Called when nginx frees the request.
    void abandon() noexcept { task_.abandon(); }

private:
    void release() noexcept override;
    service::Task& task() noexcept override { return task_; }

    service::AdminApiRequest task_;
};

// The content handler of petstore_admin.
ngx_int_t admin_handler(ngx_http_request_t* r) noexcept;

}  // namespace petstore::ngx
