#include "interruption.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
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

using Clock = std::chrono::steady_clock;

timespec time_left(Clock::time_point until)
{
    const auto left = std::max<Clock::duration>(until - Clock::now(), {});
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    return {
        static_cast<time_t>(seconds.count()),
        static_cast<long>(std::chrono::nanoseconds(left - seconds).count())};
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

bool Interruption::requested() noexcept
{
    return g_requested != 0;
}

void Interruption::poll(pollfd* sockets, std::size_t count,
                        Clock::time_point until, bool noticed)
{
    sigset_t signals;
    sigset_t before;
    sigemptyset(&signals);
    for (const int number : kSignals) {
        sigaddset(&signals, number);
    }
    // A signal between the check and the wait must end the wait.
    sigprocmask(SIG_BLOCK, &signals, &before);
    if (noticed || !requested()) {
        const bool forever = until == Clock::time_point::max();
        const timespec left = forever ? timespec{} : time_left(until);
        ppoll(sockets, count, forever ? nullptr : &left, &before);
    }
    sigprocmask(SIG_SETMASK, &before, nullptr);
}

bool Interruption::wait_readable(int fd) const
{
    pollfd wait = {fd, POLLIN, 0};
    while (!requested() && wait.revents == 0) {
        poll(&wait, 1, Clock::time_point::max(), false);
    }
    return !requested();
}

}  // namespace petstore::ctl
