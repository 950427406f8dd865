#include "terminal.h"

#include <cstdlib>
#include <iostream>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../api/text.h"
#include "escape.h"
#include "output.h"
#include "terminal_stream.h"

namespace petstore::ctl {

namespace {

constexpr api::UnixTime kMinute = 60;
constexpr api::UnixTime kHour = 60 * kMinute;
constexpr api::UnixTime kDay = 24 * kHour;
constexpr api::UnixTime kMonth = 30 * kDay;
constexpr api::UnixTime kYear = 365 * kDay;

// Whether standard output shows colours: on a terminal, unless NO_COLOR is set
// (https://no-color.org) or TERM is "dumb".
bool shows_colours() noexcept
{
    const char* const no_color = std::getenv("NO_COLOR");
    const char* const term = std::getenv("TERM");
    return is_terminal(STDOUT_FILENO) && (no_color == nullptr || !*no_color)
           && (term == nullptr || std::string_view(term) != "dumb");
}

void paint(const char* sequence, std::string_view text)
{
    const bool colours = shows_colours();
    if (colours) {
        write_control(std::cout, sequence);
    }
    std::cout << text;
    if (colours) {
        write_control(std::cout, "\x1b[0m");
    }
}

std::string length_of(api::UnixTime seconds)
{
    const auto count = [&](api::UnixTime unit, const char* name) {
        return count_text(static_cast<std::uint64_t>(seconds / unit), name);
    };
    if (seconds < kHour) {
        return count(kMinute, "minute");
    }
    if (seconds < 2 * kDay) {
        return count(kHour, "hour");
    }
    if (seconds < 2 * kMonth) {
        return count(kDay, "day");
    }
    return seconds < 2 * kYear ? count(kMonth, "month") : count(kYear, "year");
}

}  // namespace

bool is_terminal(int fd) noexcept
{
    return isatty(fd) == 1;
}

std::optional<std::size_t> terminal_width(int fd) noexcept
{
    winsize size = {};
    if (ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) {
        return std::nullopt;
    }
    return size.ws_col;
}

std::size_t width_of(std::string_view text)
{
    return api::utf8_length(text).value_or(text.size());
}

void print_bold(std::string_view text)
{
    paint("\x1b[1m", text);
}

void print_verdict(std::string_view word)
{
    if (word == "ok" || word == "usable") {
        paint("\x1b[32m", word);
    } else if (word == "wrong" || word == "expired" || word == "disabled") {
        paint("\x1b[31m", word);
    } else {
        paint("\x1b[33m", word);
    }
}

std::string relative_time(api::UnixTime time, api::UnixTime now)
{
    // Neither subtraction overflows: `now` is positive.
    if (time <= now) {
        const api::UnixTime age = time < 0 ? now : now - time;
        return age < kMinute ? "just now" : length_of(age) + " ago";
    }
    const api::UnixTime left = time - now;
    return left < kMinute ? "in seconds" : "in " + length_of(left);
}

bool confirm(const std::string& question)
{
    std::cerr << escaped(question) << " [y/N] " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    return !answer.empty() && (answer[0] == 'y' || answer[0] == 'Y');
}

}  // namespace petstore::ctl
