#include "interruption.h"

#include <algorithm>
#include <ctime>

namespace petstore::ctl {

namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t g_requested = 0;

void on_signal(int)
{
    g_requested = 1;
}

timespec time_left(Clock::time_point until)
{
    const auto now = Clock::now();
    // time_point::min() cannot be subtracted from.
    const auto left = std::max(until, now) - now;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    return {
        static_cast<time_t>(seconds.count()),
        static_cast<long>(std::chrono::nanoseconds(left - seconds).count())};
}

}  // namespace

Interruption::Interruption()
{
    g_requested = 0;
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
