#pragma once

#include "../../redis/scheduler.h"
#include "../shared_read.h"
#include "read_cache.h"

namespace petstore::store {

// Reads the catalogue's version where it does not come with the limiter's
// reply, with one command for all requests of an event-loop iteration.
//
// Pages are as fresh as if the version came with the limiter's reply. The
// command is written at the end of the iteration, after its requests have
// arrived, so the version includes every create that was answered before. The
// data for the request are read later on the same connection, so they are at
// least as new. When the limiter decides, on another connection, does not
// matter: that determines only whether the request is answered.
class VersionQueue final : private redis::EndOfIterationTask {
public:
    // Both borrowed.
    VersionQueue(redis::Scheduler& scheduler, ReadCache& cache) noexcept;
    ~VersionQueue();
    VersionQueue(const VersionQueue&) = delete;

    // Calls the waiter exactly once; before returning, only with a failure.
    // Commands sent over the link after this call are executed after the one
    // that reads the version.
    void read(Waiter<VersionInGeneration>& waiter) noexcept;

private:
    class Load;

    void run() noexcept override;

    redis::Scheduler& scheduler_;
    ReadCache& cache_;
    SharedReads<Load, Waiter<VersionInGeneration>*> loads_;
    bool scheduled_ = false;
};

}  // namespace petstore::store
