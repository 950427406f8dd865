#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace petstore::ctl {

// The last stop before a terminal: escapes what it would obey in whatever is
// written to the stream, except line feeds. JSON stays valid.
class TerminalBuffer final : public std::streambuf {
public:
    explicit TerminalBuffer(std::streambuf& terminal) : terminal_(terminal) {}

    // Writes a control sequence of our own.
    void control(std::string_view sequence);

protected:
    int_type overflow(int_type c) override;
    std::streamsize xsputn(const char* text, std::streamsize size) override;
    int sync() override;

private:
    bool write(std::string_view text);

    std::streambuf& terminal_;
    std::string partial_;  // the beginning of a code point
};

// Puts a TerminalBuffer into a standard stream that is a terminal, and takes it
// out again.
class TerminalStream {
public:
    TerminalStream(std::ostream& stream, int fd);
    ~TerminalStream();
    TerminalStream(const TerminalStream&) = delete;

private:
    std::ostream& stream_;
    std::streambuf* const original_;
    TerminalBuffer buffer_;
};

// Writes a control sequence, or nothing if the stream is not a terminal.
void write_control(std::ostream& stream, std::string_view sequence);

}  // namespace petstore::ctl
