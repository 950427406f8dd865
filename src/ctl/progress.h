#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace petstore::ctl {

// A line on standard error that tells how far a long command is. Draws nothing
// unless standard error is a terminal.
class Progress {
public:
    // `total` in the unit of `done` below; unknown for a pipe.
    explicit Progress(std::optional<std::uint64_t> total);
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    void update(std::uint64_t pets, std::uint64_t done);

    // Takes the line away, before a message.
    void clear();

private:
    using Clock = std::chrono::steady_clock;

    const bool terminal_;
    const std::optional<std::uint64_t> total_;
    const Clock::time_point started_ = Clock::now();
    Clock::time_point drawn_;
    bool visible_ = false;
};

}  // namespace petstore::ctl
