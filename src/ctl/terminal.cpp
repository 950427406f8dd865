#include "terminal.h"

#include <cstdlib>
#include <iostream>
#include <unistd.h>

namespace petstore::ctl {

namespace {

constexpr api::UnixTime kMinute = 60;
constexpr api::UnixTime kHour = 60 * kMinute;
constexpr api::UnixTime kDay = 24 * kHour;
constexpr api::UnixTime kMonth = 30 * kDay;
constexpr api::UnixTime kYear = 365 * kDay;

std::string painted(const char* code, std::string_view text)
{
    std::string result = "\x1b[";
    return result.append(code).append("m").append(text).append("\x1b[0m");
}

std::string count_of(api::UnixTime count, const char* unit)
{
    return std::to_string(count) + ' ' + unit + (count == 1 ? "" : "s");
}

std::string length_of(api::UnixTime seconds)
{
    if (seconds < kHour) {
        return count_of(seconds / kMinute, "minute");
    }
    if (seconds < 2 * kDay) {
        return count_of(seconds / kHour, "hour");
    }
    if (seconds < 2 * kMonth) {
        return count_of(seconds / kDay, "day");
    }
    return seconds < 2 * kYear ? count_of(seconds / kMonth, "month")
                               : count_of(seconds / kYear, "year");
}

}  // namespace

bool is_terminal(int fd) noexcept
{
    return isatty(fd) == 1;
}

bool shows_colours() noexcept
{
    const char* const no_color = std::getenv("NO_COLOR");
    const char* const term = std::getenv("TERM");
    return is_terminal(STDOUT_FILENO) && (no_color == nullptr || !*no_color)
           && (term == nullptr || std::string_view(term) != "dumb");
}

std::string bold(std::string_view text)
{
    return painted("1", text);
}

std::string coloured(std::string_view word)
{
    if (word == "ok" || word == "usable") {
        return painted("32", word);
    }
    if (word == "wrong" || word == "expired" || word == "disabled") {
        return painted("31", word);
    }
    return painted("33", word);
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
    std::cerr << question << " [y/N] " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    return !answer.empty() && (answer[0] == 'y' || answer[0] == 'Y');
}

}  // namespace petstore::ctl
