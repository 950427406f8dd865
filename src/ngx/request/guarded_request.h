#pragma once

#include "../../redis/in_flight.h"
#include "../../service/guard_request.h"
#include "served_request.h"

namespace petstore::ngx {

class Worker;

// One pass of a request through a guarded location: admission before the
// location's own handler. Owned by the Worker until the verdict was returned or
// nginx has freed the request, and Redis has replied to all commands sent for
// it.
class GuardedRequest final : public redis::InFlight<GuardedRequest>::Item,
                             private ServedRequest,
                             private service::Gate {
public:
    GuardedRequest(ngx_http_request_t* r, RequestInfo& info,
                   const LocConf& conf, Worker& worker,
                   ngx_http_cleanup_t& cleanup);

    // Return the phase handler's result: run() on its first call,
    // take_verdict() on calls after a suspension.
    ngx_int_t run() noexcept;
    ngx_int_t take_verdict() noexcept;

    bool is_of(const ngx_http_request_t* r) const noexcept
    {
        return request() == r;
    }

    GuardedRequest* next = nullptr;  // in GuardState::passes

private:
    void respond(const service::Response& response) noexcept override;
    void admit() noexcept override;
    void release() noexcept override;
    bool shows_identity() noexcept;
    bool keep_body(const service::Response& response) noexcept;
    void leave() noexcept;

    const LocConf& conf_;
    service::GuardRequest task_;
    ngx_http_cleanup_t& cleanup_;
};

}  // namespace petstore::ngx
