#pragma once

#include "../ngx_base/ngx.h"
#include "../ngx_base/timer.h"
#include "../redis/scheduler.h"

namespace petstore::ngx_redis {

// Runs the tasks of a worker's stores and nodes from one posted event. Must
// outlive all tasks.
class EventLoopScheduler final : public redis::Scheduler {
public:
    explicit EventLoopScheduler(ngx_log_t& log) noexcept;
    EventLoopScheduler(const EventLoopScheduler&) = delete;
    EventLoopScheduler& operator=(const EventLoopScheduler&) = delete;

    void schedule(redis::EndOfIterationTask& task,
                  Stage stage) noexcept override;

    // Runs all tasks, and those that they schedule, until none is left. Called
    // by nginx, and by an exiting worker after its nodes are closed.
    void run() noexcept;

private:
    // First in, first out, linked through the tasks.
    class Queue {
    public:
        Queue() = default;
        Queue(const Queue&) = delete;
        Queue& operator=(const Queue&) = delete;

        void push(redis::EndOfIterationTask& task) noexcept;

        // nullptr if empty.
        redis::EndOfIterationTask* pop() noexcept;

    private:
        redis::EndOfIterationTask* first_ = nullptr;
        redis::EndOfIterationTask** end_ = &first_;
    };

    Queue batches_;
    Queue writes_;
    ngx_base::PostedEvent<EventLoopScheduler, &EventLoopScheduler::run> event_;
};

}  // namespace petstore::ngx_redis
