#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "e2e/support/util.h"

namespace petstore::e2e {

// A stream of random numbers that depends only on the seed and the actor's
// name, so that one actor's draws do not shift another's.
class Random {
public:
    Random(std::uint64_t seed, std::string_view name);

    std::uint64_t next();
    bool chance(int percent) { return between(1, 100) <= percent; }
    int between(int low, int high);  // inclusive
    std::chrono::milliseconds millis(int low, int high);
    std::string bytes(std::size_t size);  // any of 256 values

    template <typename T>
    const T& pick(const std::vector<T>& choices)
    {
        return choices[next() % choices.size()];
    }
    template <typename T>
    T pick(std::initializer_list<T> choices)
    {
        return *(choices.begin() + next() % choices.size());
    }

private:
    std::uint64_t state_;
};

// Records what the actors did and the failures that they found. Shared by all
// threads.
class Journal {
public:
    // Adds a note to the report of a failure. Only the latest notes are kept.
    void note(const std::string& who, const std::string& what);
    // Records a failure. The notes up to the first failure are kept for the
    // report.
    void complain(const std::string& who, const std::string& what);
    void count(const std::string& what, std::uint64_t by = 1);

    bool failed() const noexcept { return failed_; }
    std::vector<std::string> complaints() const;
    // The notes up to the first failure; without one, the latest notes.
    std::string notes() const;
    std::uint64_t counted(const std::string& what) const;
    std::string counts() const;

private:
    std::string stamped(const std::string& who, const std::string& what) const;

    static constexpr std::size_t kNotes = 400;
    static constexpr std::size_t kComplaints = 12;

    mutable std::mutex mutex_;
    const Clock::time_point start_ = Clock::now();
    std::atomic<bool> failed_{false};
    std::deque<std::string> notes_;
    std::deque<std::string> notes_at_failure_;
    std::vector<std::string> complaints_;
    std::map<std::string, std::uint64_t> counts_;
};

// Makes `bytes` printable and short enough for a line of a report.
std::string excerpt(std::string_view bytes, std::size_t size = 300);

}  // namespace petstore::e2e
