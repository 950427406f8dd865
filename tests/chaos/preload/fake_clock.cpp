// For LD_PRELOAD: shifts the time of day by the number of seconds in the file
// named by FAKE_CLOCK, which is read at every clock access; or, if the number
// follows a "=", stops the clock at that time in Unix milliseconds. The
// monotonic clock is not changed.
//
// Redis needs this instead of libfaketime: libfaketime allocates from jemalloc
// before it is ready, and jemalloc reads the clock. So nothing here allocates
// or needs the dynamic linker.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

void shift(timespec& time) noexcept
{
    const char* name = std::getenv("FAKE_CLOCK");
    const int fd = name != nullptr ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return;
    }
    char text[24] = {};
    const auto size = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (size <= 0) {
        return;
    }
    if (text[0] == '=') {
        const auto ms = std::strtoll(text + 1, nullptr, 10);
        time = {static_cast<time_t>(ms / 1000), ms % 1000 * 1'000'000};
    } else {
        time.tv_sec += static_cast<time_t>(std::strtoll(text, nullptr, 10));
    }
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* to) noexcept
{
    const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, to));
    if (result == 0
        && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        shift(*to);
    }
    return result;
}

int gettimeofday(timeval* to, void*) noexcept
{
    timespec now;
    const int result = clock_gettime(CLOCK_REALTIME, &now);
    *to = {now.tv_sec, now.tv_nsec / 1000};
    return result;
}

time_t time(time_t* to) noexcept
{
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to != nullptr) {
        *to = now.tv_sec;
    }
    return now.tv_sec;
}
}
