#pragma once

#include "redis/scheduler.h"

// Every task is an event-loop iteration.
struct AtOnce final : petstore::redis::Scheduler {
    void schedule(petstore::redis::EndOfIterationTask& task,
                  Stage /*stage*/) noexcept override
    {
        task.run();
    }
};
