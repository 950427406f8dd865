#include "progress.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <unistd.h>

#include "output.h"
#include "terminal.h"
#include "terminal_stream.h"

namespace petstore::ctl {

namespace {

using namespace std::chrono_literals;

constexpr auto kRedraw = 100ms;
constexpr std::uint64_t kBarWidth = 30;
constexpr char kErase[] = "\r\x1b[K";  // the line

}  // namespace

Progress::Progress(std::optional<std::uint64_t> total, const char* noun)
    : terminal_(isatty(STDERR_FILENO) == 1), total_(total), noun_(noun)
{}

void Progress::update(std::uint64_t count, std::uint64_t done)
{
    const auto now = Clock::now();
    if (!terminal_ || now - drawn_ < kRedraw) {
        return;
    }
    drawn_ = now;
    visible_ = true;

    std::string line;
    if (total_ && *total_) {
        const std::uint64_t share = std::min(done, *total_);
        const std::uint64_t filled = share * kBarWidth / *total_;
        line += '[' + std::string(filled, '#')
                + std::string(kBarWidth - filled, '.') + "] "
                + std::to_string(share * 100 / *total_) + "%  ";
    }
    const double seconds =
        std::chrono::duration<double>(now - started_).count();
    line += count_text(count, noun_);
    if (seconds > 0) {
        line += ", "
                + std::to_string(static_cast<std::uint64_t>(
                    static_cast<double>(count) / seconds))
                + "/s";
    }
    // What wraps would not be erased.
    if (const auto width = terminal_width(STDERR_FILENO)) {
        line.resize(std::min(line.size(), *width - 1));
    }
    write_control(std::cerr, kErase);
    std::cerr << line << std::flush;
}

void Progress::clear()
{
    if (visible_) {
        write_control(std::cerr, kErase);
        std::cerr << std::flush;
    }
    visible_ = false;
}

}  // namespace petstore::ctl
