#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace petstore::ctl {

// Shows the progress of a long command on standard error, if that is a
// terminal.
class Progress {
public:
    // `total` is in the unit of update()'s `done`; nullopt if unknown, as for a
    // pipe. `noun`: what is counted, a literal.
    explicit Progress(std::optional<std::uint64_t> total,
                      const char* noun = "pet");
    ~Progress() { clear(); }
    Progress(const Progress&) = delete;

    void update(std::uint64_t count, std::uint64_t done);

    // Erases the progress line. Call before printing a message.
    void clear();

private:
    using Clock = std::chrono::steady_clock;

    const bool terminal_;
    const std::optional<std::uint64_t> total_;
    const char* const noun_;
    const Clock::time_point started_ = Clock::now();
    Clock::time_point drawn_;
    bool visible_ = false;
};

}  // namespace petstore::ctl
