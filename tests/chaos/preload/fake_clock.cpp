// For LD_PRELOAD: shifts the time of day by the number of seconds in the file
// named by FAKE_CLOCK, which is read at every clock access. The monotonic clock
// is not changed.
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

time_t offset() noexcept
{
    const char* name = std::getenv("FAKE_CLOCK");
    const int fd = name != nullptr ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0) {
        return 0;
    }
    char text[24] = {};
    const auto size = read(fd, text, sizeof(text) - 1);
    close(fd);
    return size > 0 ? static_cast<time_t>(std::strtoll(text, nullptr, 10)) : 0;
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* to) noexcept
{
    const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, to));
    if (result == 0
        && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        to->tv_sec += offset();
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
