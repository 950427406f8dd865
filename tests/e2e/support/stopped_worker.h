#pragma once

#include <csignal>
#include <string>

#include "store.h"

namespace petstore::e2e {

// Stops the only worker of nginx while it exists, so that the worker then reads
// all that was sent in one event-loop iteration.
class StoppedWorker {
public:
    explicit StoppedWorker(const NginxServer& nginx)
        : worker_(nginx.workers().at(0))
    {
        ::kill(worker_, SIGSTOP);
        const auto stat = "/proc/" + std::to_string(worker_) + "/stat";
        REQUIRE(wait_until([&] { return contains(read_file(stat), ") T"); }));
    }
    StoppedWorker(const StoppedWorker&) = delete;
    StoppedWorker& operator=(const StoppedWorker&) = delete;
    ~StoppedWorker() { ::kill(worker_, SIGCONT); }

private:
    const pid_t worker_;
};

}  // namespace petstore::e2e
