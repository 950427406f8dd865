#pragma once

namespace petstore::redis {

// Work for the end of the current event-loop iteration.
class EndOfIterationTask {
public:
    virtual void run() noexcept = 0;

    // Scheduler's, while the task is queued: scheduling must not need memory.
    EndOfIterationTask* next_task = nullptr;

protected:
    ~EndOfIterationTask() = default;
};

// Runs tasks at the end of the current event-loop iteration, so that one
// command can serve everything that came up in it, and one write can carry all
// commands.
class Scheduler {
public:
    enum class Stage {
        batch,  // tasks that send commands; they may schedule further ones
        write,  // links write what was sent; runs when no batch is left
    };

    // Runs `task` once. It is borrowed until then and must not be queued
    // already.
    virtual void schedule(EndOfIterationTask& task, Stage stage) noexcept = 0;

protected:
    ~Scheduler() = default;
};

}  // namespace petstore::redis
