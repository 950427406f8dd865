#pragma once

#include <csignal>

namespace petstore::ctl {

// While this lives, the first SIGINT, SIGTERM or SIGHUP only asks the command
// to stop and say how far it came; a second one ends the process as usual. One
// at a time.
class Interruption {
public:
    // `redis`: the socket of a connection. From the first signal on, nothing is
    // waited for there longer than a moment.
    explicit Interruption(int redis);
    ~Interruption();
    Interruption(const Interruption&) = delete;
    Interruption& operator=(const Interruption&) = delete;

    bool requested() const noexcept;

    // Waits until there is something to read. False: interrupted.
    bool wait_readable(int fd) const;

private:
    static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

    struct sigaction before_[3];
};

}  // namespace petstore::ctl
