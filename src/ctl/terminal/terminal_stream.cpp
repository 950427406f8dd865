#include "terminal_stream.h"

#include <unistd.h>
#include <utility>

#include "../../api/utf8.h"
#include "escape.h"

namespace petstore::ctl {

namespace {

// The size of the code point that starts with this byte, if it is one.
constexpr std::size_t size_after(char lead)
{
    const auto byte = static_cast<unsigned char>(lead);
    return byte < 0xC2 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

bool is_incomplete(std::string_view text)
{
    return api::code_point_size(text) == 0 && text.size() < size_after(text[0]);
}

}  // namespace

void TerminalBuffer::control(std::string_view sequence)
{
    sync();
    write(sequence);
}

TerminalBuffer::int_type TerminalBuffer::overflow(int_type c)
{
    if (traits_type::eq_int_type(c, traits_type::eof())) {
        return traits_type::not_eof(c);
    }
    const char byte = traits_type::to_char_type(c);
    return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
}

std::streamsize TerminalBuffer::xsputn(const char* text, std::streamsize size)
{
    std::string input = std::move(partial_);
    partial_.clear();
    input.append(text, static_cast<std::size_t>(size));
    std::string_view left = input;
    std::string safe;
    while (!left.empty()) {
        if (left.front() == '\n') {
            safe += '\n';
            left.remove_prefix(1);
        } else if (is_incomplete(left)) {
            partial_ = left;
            break;
        } else {
            take_escaped(left, safe);
        }
    }
    return write(safe) ? size : 0;
}

int TerminalBuffer::sync()
{
    const std::string rest = escaped(partial_);
    partial_.clear();
    return write(rest) ? terminal_.pubsync() : -1;
}

bool TerminalBuffer::write(std::string_view text)
{
    const auto size = static_cast<std::streamsize>(text.size());
    return terminal_.sputn(text.data(), size) == size;
}

TerminalStream::TerminalStream(std::ostream& stream, int fd)
    : stream_(stream), original_(stream.rdbuf()), buffer_(*original_)
{
    if (isatty(fd) == 1) {
        stream_.rdbuf(&buffer_);
    }
}

TerminalStream::~TerminalStream()
{
    stream_.flush();
    stream_.rdbuf(original_);
}

void write_control(std::ostream& stream, std::string_view sequence)
{
    auto* const terminal = dynamic_cast<TerminalBuffer*>(stream.rdbuf());
    if (terminal != nullptr) {
        terminal->control(sequence);
    }
}

}  // namespace petstore::ctl
