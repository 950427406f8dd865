#include "interruption.h"

#include <cerrno>
#include <cstddef>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

namespace petstore::ctl {

namespace {

constexpr time_t kSecondsToReply = 3;

volatile std::sig_atomic_t g_requested = 0;
volatile std::sig_atomic_t g_redis = -1;

void shorten_timeouts()
{
    const timeval timeout = {kSecondsToReply, 0};
    setsockopt(g_redis, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    setsockopt(g_redis, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
}

// Sets a flag and shortens the socket's timeouts, because a signal right before
// recv() would not interrupt it.
void on_signal(int)
{
    const int error = errno;
    shorten_timeouts();
    g_requested = 1;
    errno = error;
}

}  // namespace

Interruption::Interruption()
{
    g_requested = 0;
    g_redis = -1;
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    std::size_t i = 0;
    for (const int number : kSignals) {
        sigaction(number, nullptr, &before_[i]);
        // A signal that the parent ignores (nohup) stays ignored.
        if (before_[i].sa_handler != SIG_IGN) {
            sigaction(number, &action, nullptr);
        }
        ++i;
    }
}

Interruption::~Interruption()
{
    std::size_t i = 0;
    for (const int number : kSignals) {
        sigaction(number, &before_[i++], nullptr);
    }
}

void Interruption::watch(int redis) const noexcept
{
    g_redis = redis;
    if (requested()) {
        shorten_timeouts();
    }
}

bool Interruption::requested() const noexcept
{
    return g_requested != 0;
}

bool Interruption::wait_readable(int fd) const
{
    sigset_t signals;
    sigset_t before;
    sigemptyset(&signals);
    for (const int number : kSignals) {
        sigaddset(&signals, number);
    }
    // A signal between the check and the wait must end the wait.
    sigprocmask(SIG_BLOCK, &signals, &before);
    pollfd wait = {fd, POLLIN, 0};
    while (!requested() && ppoll(&wait, 1, nullptr, &before) < 0
           && errno == EINTR) {
    }
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return !requested();
}

}  // namespace petstore::ctl
