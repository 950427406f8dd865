#include "event_loop_scheduler.h"

namespace petstore::ngx_redis {

EventLoopScheduler::EventLoopScheduler(ngx_log_t& log) noexcept
    : event_(*this, &log)
{}

void EventLoopScheduler::schedule(redis::EndOfIterationTask& task,
                                  Stage stage) noexcept
{
    (stage == Stage::batch ? batches_ : writes_).push(task);
    event_.post();
}

// A write may fail commands, whose handlers may schedule batches. Those run
// before the next write.
void EventLoopScheduler::run() noexcept
{
    for (;;) {
        redis::EndOfIterationTask* task = batches_.pop();
        if (task == nullptr) {
            task = writes_.pop();
        }
        if (task == nullptr) {
            return;
        }
        task->run();  // may schedule itself again, or be gone afterwards
    }
}

void EventLoopScheduler::Queue::push(redis::EndOfIterationTask& task) noexcept
{
    task.next_task = nullptr;
    *end_ = &task;
    end_ = &task.next_task;
}

redis::EndOfIterationTask* EventLoopScheduler::Queue::pop() noexcept
{
    redis::EndOfIterationTask* const task = first_;
    if (task != nullptr) {
        first_ = task->next_task;
        if (first_ == nullptr) {
            end_ = &first_;
        }
    }
    return task;
}

}  // namespace petstore::ngx_redis
