#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <poll.h>

namespace petstore::ctl {

// While this object exists, the first SIGINT, SIGTERM or SIGHUP asks the
// command to stop and report its progress; a second one ends the process as
// usual. Only one object at a time.
class Interruption {
public:
    Interruption();
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    static bool requested() noexcept;

    // Waits until a socket is ready or it is `until`. One of these signals ends
    // the wait, even if it came before; `noticed`: unless another one did.
    static void poll(pollfd* sockets, std::size_t count,
                     std::chrono::steady_clock::time_point until, bool noticed);

    // Waits until `fd` is readable. False if interrupted.
    bool wait_readable(int fd) const;

private:
    static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

    struct sigaction before_[3];
};

}  // namespace petstore::ctl
