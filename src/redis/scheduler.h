#pragma once

namespace petstore::redis {

// Work for the end of the current event-loop iteration.
class EndOfIterationTask {
public:
    virtual void run() noexcept = 0;

    // Used by Scheduler while the task is queued, so that scheduling needs no
    // memory.
    EndOfIterationTask* next_task = nullptr;

protected:
    ~EndOfIterationTask() = default;
};

// Runs tasks at the end of the current event-loop iteration, so that one
// command can serve all requests of the iteration, and one write can send all
// commands.
class Scheduler {
public:
    enum class Stage {
        batch,  // sends commands; may schedule further batches
        write,  // writes the commands; runs when no batch is left
    };

    // Runs `task` once. It is borrowed until then and must not be queued
    // already.
    virtual void schedule(EndOfIterationTask& task, Stage stage) noexcept = 0;

protected:
    ~Scheduler() = default;
};

}  // namespace petstore::redis
