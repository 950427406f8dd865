#pragma once

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

}  // namespace petstore::service
