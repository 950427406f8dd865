#pragma once

#include "../../ngx_base/ngx.h"
#include "../../service/responder.h"
#include "../worker/store_log.h"
#include "suspension.h"

namespace petstore::ngx {

// The common base of the service's responders: suspends the request while its
// task waits, wraps events from Redis, and logs. Implementations live in a
// container of the Worker and remove themselves.
template <typename Base>
class Responder : public Base {
public:
    Responder(ngx_http_request_t* r, Suspension::Phase phase) noexcept
        : r_(r), connection_(r->connection), suspension_(r, phase)
    {}

    void fail() noexcept override
    {
        suspension_.finish(NGX_HTTP_INTERNAL_SERVER_ERROR);
    }

    // Like ngx_http_request_handler() around a request's own events. The
    // connection outlives the request: it is in nginx's connection table.
    void begin_event() noexcept override
    {
        ngx_http_set_log_request(connection_->log, r_);
    }
    void end_event() noexcept override
    {
        ngx_http_run_posted_requests(connection_);
    }

    void log_exception(const char* what) noexcept override
    {
        // Not the request's log: the request may be gone.
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "petstore: %s", what);
    }

    void log_dry_run(const store::Account* account) noexcept override
    {
        if (account == nullptr) {
            ngx_log_error(NGX_LOG_NOTICE, connection_->log, 0,
                          "petstore: address over its limit, dry run");
            return;
        }
        ngx_log_error(NGX_LOG_NOTICE, connection_->log, 0,
                      "petstore: account %*s over its limit, dry run",
                      account->id().size(), account->id().data());
    }

    void account_banned(const store::Account& account,
                        const store::AccountStatus& status) noexcept override
    {
        log_ban(*connection_->log, account, status);
    }

protected:
    ~Responder() = default;

    // Runs the task from nginx's handler, and suspends the request unless the
    // task has ended. The caller keeps the task alive with Task::enter().
    template <typename Task>
    void start(Task& task) noexcept
    {
        task.enter([&task] { task.run(); });
        if (!task.over() && !suspension_.suspend()) {
            task.fail();
        }
    }

    ngx_http_request_t* request() const noexcept { return r_; }
    Suspension& suspension() noexcept { return suspension_; }

private:
    ngx_http_request_t* const r_;
    ngx_connection_t* const connection_;
    Suspension suspension_;
};

}  // namespace petstore::ngx
