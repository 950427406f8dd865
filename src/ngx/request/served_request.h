#pragma once

#include "../../ngx_base/ngx.h"
#include "../../service/request_task.h"
#include "http_request.h"
#include "request_info.h"
#include "request_log.h"
#include "suspension.h"

namespace petstore::ngx {

class Worker;

// The common base of requests that a task of the service works on. Owned by a
// container of the Worker; release() ends that.
class ServedRequest : protected service::TaskOwner,
                      protected service::Responder {
protected:
    ServedRequest(ngx_http_request_t* r, RequestInfo& info, const LocConf& conf,
                  Suspension::Phase phase) noexcept
        : r_(r), connection_(r->connection), info_(info), http_(r, conf),
          log_(r), suspension_(r, phase)
    {}
    ~ServedRequest() = default;

    // Runs the task from nginx's content handler, and suspends the request
    // unless the task has ended. Returns the handler's result.
    template <typename Task>
    ngx_int_t run_task(Task& task) noexcept
    {
        ngx_int_t result = NGX_DONE;
        task.enter([&] {
            start(task);
            result = suspension_.handler_result();
        });
        return result;
    }

    // The same without the result. The caller keeps the task alive with
    // RequestTask::enter().
    template <typename Task>
    void start(Task& task) noexcept
    {
        task.enter([&task] { task.run(); });
        if (!task.over() && !suspension_.suspend()) {
            task.fail();
        }
    }

    service::RequestTask::Context context(const LocConf& conf,
                                          Worker& worker) noexcept;

    ngx_http_request_t* request() const noexcept { return r_; }
    RequestInfo& info() const noexcept { return info_; }
    Suspension& suspension() noexcept { return suspension_; }

private:
    void fail() noexcept final
    {
        suspension_.finish(NGX_HTTP_INTERNAL_SERVER_ERROR);
    }

    // Like ngx_http_request_handler() around a request's own events. The
    // request may be gone at the end, but not its connection.
    void begin_event() noexcept final
    {
        ngx_http_set_log_request(connection_->log, r_);
    }
    void end_event() noexcept final
    {
        ngx_http_run_posted_requests(connection_);
    }

    ngx_http_request_t* const r_;
    ngx_connection_t* const connection_;
    RequestInfo& info_;
    HttpRequest http_;
    RequestLog log_;
    Suspension suspension_;
};

}  // namespace petstore::ngx
