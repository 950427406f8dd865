#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../exit.h"
#include "../terminal/interruption.h"

namespace petstore::ctl {

// Of a line of more than 64 KiB.
class LongLine final : public Failure {
public:
    explicit LongLine(std::uint64_t number)
        : Failure("line " + std::to_string(number) + ": longer than 64 KiB")
    {}
};

// As the last line that an editor adds.
inline bool is_blank(std::string_view line)
{
    return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// Reads and counts the lines of a file. Throws Failure.
class LineReader {
public:
    // "-" is standard input.
    explicit LineReader(const std::string& file);
    ~LineReader();
    LineReader(const LineReader&) = delete;
    LineReader& operator=(const LineReader&) = delete;

    // The next line without its line end, valid until the next call. False at
    // the end of the file, or if interrupted.
    bool next(std::string_view& line, const Interruption& interruption);

    // The bytes already read after the last line, valid until the next call of
    // next(). A pipe may still deliver more.
    std::string_view read_ahead() const noexcept
    {
        return {buffer_.data() + begin_, end_ - begin_};
    }

    std::uint64_t number() const noexcept { return number_; }
    std::uint64_t bytes() const noexcept { return bytes_; }

    // nullopt unless it is a regular file.
    std::optional<std::uint64_t> size() const;

private:
    bool fill(const Interruption& interruption);

    int fd_;
    std::vector<char> buffer_;
    std::size_t begin_ = 0;  // unread: [begin_, end_)
    std::size_t end_ = 0;
    bool ended_ = false;
    std::uint64_t number_ = 0;
    std::uint64_t bytes_ = 0;
};

}  // namespace petstore::ctl
