#pragma once

#include <variant>

#include "../../api/error.h"
#include "../../redis/in_flight.h"
#include "../../redis/link.h"
#include "../../redis/scheduler.h"
#include "pet_commands.h"
#include "reader.h"

namespace petstore::store {

using VersionResult = std::variant<DatedVersion, api::Error>;

// A request that waits for the catalogue's version.
class VersionWaiter {
public:
    virtual void on_version(const VersionResult& result) noexcept = 0;

protected:
    ~VersionWaiter() = default;
};

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
    // All borrowed. `reader` reads over `link`.
    VersionQueue(redis::Link& link, redis::Scheduler& scheduler,
                 const PetCommands& commands, Reader& reader) noexcept;
    ~VersionQueue();
    VersionQueue(const VersionQueue&) = delete;
    VersionQueue& operator=(const VersionQueue&) = delete;

    // Calls the waiter exactly once; before returning, only with an error.
    // Commands sent over the link after this call are executed after the one
    // that reads the version.
    void read(VersionWaiter& waiter) noexcept;

private:
    class Load;

    void run() noexcept override;

    redis::Link& link_;
    redis::Scheduler& scheduler_;
    const PetCommands& commands_;
    Reader& reader_;
    redis::InFlight<Load> loads_;
    Load* open_ = nullptr;  // of this iteration
    bool scheduled_ = false;
};

}  // namespace petstore::store
