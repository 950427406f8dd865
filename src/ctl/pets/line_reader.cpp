#include "line_reader.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../command_line/words.h"

namespace petstore::ctl {

namespace {

// Far more than a pet needs; a longer line is not NDJSON.
constexpr std::size_t kMaxLine = std::size_t{64} * 1024;

[[noreturn]] void cannot_read()
{
    throw Failure("cannot read: " + std::string(std::strerror(errno)));
}

}  // namespace

LineReader::LineReader(const std::string& file)
    : fd_(file == "-" ? STDIN_FILENO
                      : open(file.c_str(), O_RDONLY | O_CLOEXEC)),
      buffer_(4 * kMaxLine)
{
    if (fd_ < 0) {
        throw Failure(cannot_open(file));
    }
}

LineReader::~LineReader()
{
    if (fd_ != STDIN_FILENO) {
        close(fd_);
    }
}

std::optional<std::uint64_t> LineReader::size() const
{
    struct stat status = {};
    return fstat(fd_, &status) == 0 && S_ISREG(status.st_mode)
               ? std::optional(static_cast<std::uint64_t>(status.st_size))
               : std::nullopt;
}

bool LineReader::fill(const Interruption& interruption)
{
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    for (;;) {
        if (!interruption.wait_readable(fd_)) {
            return false;
        }
        const ssize_t got =
            read(fd_, buffer_.data() + end_, buffer_.size() - end_);
        if (got >= 0) {
            end_ += static_cast<std::size_t>(got);
            ended_ = got == 0;
            return true;
        }
        if (errno != EINTR && errno != EAGAIN) {
            cannot_read();
        }
    }
}

bool LineReader::next(std::string_view& line, const Interruption& interruption)
{
    std::size_t searched = 0;  // bytes after begin_
    for (;;) {
        const char* start = buffer_.data() + begin_;
        const std::size_t held = end_ - begin_;
        const auto* newline = static_cast<const char*>(
            std::memchr(start + searched, '\n', held - searched));
        const std::size_t length =
            newline != nullptr ? static_cast<std::size_t>(newline - start)
                               : held;
        if (length > kMaxLine) {
            throw LongLine(number_ + 1);
        }
        if (newline != nullptr || (ended_ && held > 0)) {
            const std::size_t taken = length + (newline != nullptr ? 1 : 0);
            line = {start, length};
            begin_ += taken;
            bytes_ += taken;
            ++number_;
            return true;
        }
        if (ended_) {
            return false;
        }
        searched = held;
        if (!fill(interruption)) {
            return false;
        }
    }
}

}  // namespace petstore::ctl
