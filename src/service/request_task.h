#pragma once

#include <exception>
#include <utility>

#include "../api/error.h"
#include "../store/storage.h"
#include "request.h"
#include "request_log.h"
#include "request_state.h"
#include "responder.h"
#include "settings.h"

namespace petstore::service {

// Owns a task.
class TaskOwner {
public:
    // Enclose the work that starts from a Redis reply rather than from nginx.
    virtual void begin_event() noexcept = 0;
    virtual void end_event() noexcept = 0;

    // The task's request has ended and no reply is due: destroy the task.
    virtual void release() noexcept = 0;

protected:
    ~TaskOwner() = default;
};

// A request in the service. Pending commands point to its task, never to the
// request, which may end at any time. The task is released once the request has
// ended and all callbacks have been called.
class RequestTask {
public:
    // All borrowed. `request` and `state` are used only until abandon().
    struct Context {
        Request& request;
        Responder& responder;
        TaskOwner& owner;
        RequestLog& log;
        RequestState& state;
        const Settings& settings;
        store::Storage& storage;

        // For creates that must be durable before they are answered.
        redis::Link* durable_link = nullptr;
    };

    explicit RequestTask(const Context& context) noexcept;
    RequestTask(const RequestTask&) = delete;

    // Call when the request is being freed, or needs the task no more.
    virtual void abandon() noexcept
    {
        const Hold hold(*this);
        gone_ = true;
    }

    Request& request() const noexcept { return context_.request; }
    RequestState& state() const noexcept { return context_.state; }

    // Whether what the task finds is reported about the client's request: in
    // the rate headers, the variables and the metrics. A subrequest must not
    // change what is reported about the main request; it may be a client of
    // another store.
    bool is_reported() const noexcept
    {
        return context_.request.is_main() || !context_.state.reports_main;
    }

    // The report of this request. A subrequest that is not reported has its
    // own.
    RequestReport& report() noexcept;

    const Settings& settings() const noexcept { return context_.settings; }
    store::Storage& storage() const noexcept { return context_.storage; }
    redis::Link* durable_link() const noexcept { return context_.durable_link; }
    store::Monotonic now() const noexcept
    {
        return context_.storage.clock.monotonic();
    }
    RequestLog& log() const noexcept { return context_.log; }

    // Nothing more can be done for the request.
    bool over() const noexcept { return finished_ || gone_; }
    // nginx has freed the request, or the guard has left it.
    bool gone() const noexcept { return gone_; }

    // --- waiting for Redis --------------------------------------------------
    // Refuses the request and returns false if too many wait for Redis.
    bool may_wait();

    // Call wait() before sending a command, and deliver() from its callback,
    // which must be called exactly once. Nothing in between may throw. Await
    // calls both.
    void wait() noexcept;
    template <typename Body>
    void deliver(Body&& body) noexcept;

    // Runs `body` without releasing the task meanwhile. An exception ends the
    // request with a 500.
    template <typename Body>
    void enter(Body&& body) noexcept;

    // Runs `body`, which is optional for the request. Returns false after an
    // exception.
    template <typename Body>
    bool attempt(Body&& body) noexcept;

    // --- ending the request -------------------------------------------------
    // Nothing more will be sent by this task.
    void finish() noexcept { finished_ = true; }
    void fail() noexcept;  // 500
    void respond(const Response& response);
    void refuse(const api::Error& error);
    void refuse(const api::Error& error, Response&& response);

protected:
    ~RequestTask() = default;

private:
    class Hold {
    public:
        explicit Hold(RequestTask& task) noexcept : task_(task)
        {
            ++task_.depth_;
        }
        ~Hold()
        {
            if (--task_.depth_ == 0 && task_.gone_ && task_.waiting_ == 0) {
                task_.context_.owner.release();
            }
        }
        Hold(const Hold&) = delete;

    private:
        RequestTask& task_;
    };

    void use_last_rate() noexcept;

    const Context context_;
    RequestReport own_report_;  // of a subrequest
    int waiting_ = 0;           // callbacks outstanding
    int depth_ = 0;             // calls into the task on the stack
    bool gone_ = false;
    bool finished_ = false;
};

template <typename Body>
void RequestTask::enter(Body&& body) noexcept
{
    const Hold hold(*this);
    if (!attempt(std::forward<Body>(body))) {
        fail();
    }
}

template <typename Body>
bool RequestTask::attempt(Body&& body) noexcept
{
    const Hold hold(*this);
    try {
        body();
        return true;
    } catch (const std::exception& exception) {
        context_.log.exception(exception.what());
    } catch (...) {
        context_.log.exception("unknown exception");
    }
    return false;
}

template <typename Body>
void RequestTask::deliver(Body&& body) noexcept
{
    const Hold hold(*this);
    if (--waiting_ == 0) {
        --context_.storage.waiting_requests;
    }
    if (over()) {
        return;
    }
    RedisTime& time = context_.state.redis_time;
    time.passed = now() - *time.started;
    const bool from_event = depth_ == 1;
    if (from_event) {
        context_.owner.begin_event();
    }
    enter(std::forward<Body>(body));
    if (from_event) {
        context_.owner.end_event();
    }
}

}  // namespace petstore::service
