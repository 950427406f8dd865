#include "slow_import.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "catch.h"
#include "store.h"

namespace petstore::e2e {

SlowImport::SlowImport(const std::string& redis,
                       const std::vector<std::string>& options,
                       const std::vector<std::string>& reader)
{
    const std::string pipe = dir_ / "pipe";
    if (mkfifo(pipe.c_str(), 0600) != 0) {
        throw HarnessError("no pipe");
    }
    // Opens both ends, so that neither side blocks on opening.
    fd_ = open(pipe.c_str(), O_RDWR | O_CLOEXEC);
    std::vector<std::string> command = {ctl_binary(), "--redis", redis};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), reader.begin(), reader.end());
    process_ = Process({command, {}, pipe, dir_ / "out", dir_ / "err"});
}

SlowImport::~SlowImport()
{
    end_input();
}

void SlowImport::end_input()
{
    if (fd_ >= 0) {
        close(std::exchange(fd_, -1));
    }
}

void SlowImport::write(const std::string& lines) const
{
    // A pipe holds 64 KB.
    if (::write(fd_, lines.data(), lines.size())
        != static_cast<ssize_t>(lines.size())) {
        throw HarnessError("cannot write to the pipe");
    }
}

bool SlowImport::has_read_all() const
{
    int left = 0;
    return ioctl(fd_, FIONREAD, &left) == 0 && left == 0;
}

std::string SlowImport::failure()
{
    const auto code = process_.wait(60s);
    CHECK((code == 1 || code == 4));
    return read_file(dir_ / "err");
}

}  // namespace petstore::e2e
