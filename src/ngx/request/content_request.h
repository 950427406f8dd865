#pragma once

#include "../../redis/in_flight.h"
#include "body_request.h"

namespace petstore::ngx {

class Worker;

// A request that a content handler of the module answers, with a task of the
// service. In a list of the Worker until nginx has freed the request and Redis
// has replied to all commands sent for it.
template <typename Task>
class ContentRequest final : public redis::InFlight<ContentRequest<Task>>::Item,
                             private BodyRequest {
public:
    using List = redis::InFlight<ContentRequest>;

    // `list` is the one that will own this.
    ContentRequest(ngx_http_request_t* r, RequestInfo& info,
                   const LocConf& conf, Worker& worker, List& list)
        : BodyRequest(r, info, conf, Suspension::Phase::content),
          task_(make_task(conf, worker)), list_(list)
    {}

    // Returns the content handler's result.
    ngx_int_t run() noexcept { return run_task(task_); }

    // Called when nginx frees the request.
    void abandon() noexcept { task_.abandon(); }

private:
    Task make_task(const LocConf& conf, Worker& worker);
    void release() noexcept override { list_.end(*this); }
    service::RequestTask& task() noexcept override { return task_; }

    Task task_;
    List& list_;
};

}  // namespace petstore::ngx
