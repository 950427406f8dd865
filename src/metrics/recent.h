#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace petstore::metrics {

// Counts events per second for the last few seconds, to compute rates. One
// worker adds, all read; if several add, a few events may be lost when a second
// begins.
template <std::size_t Kinds>
class Recent {
public:
    static constexpr std::uint32_t kSeconds = 64;

    void add(std::size_t kind, std::uint32_t now) noexcept
    {
        Second& second = seconds_[now % kSeconds];
        if (second.time.load(std::memory_order_acquire) != now) {
            for (auto& count : second.counts) {
                count.store(0, std::memory_order_relaxed);
            }
            // Release: whoever sees the time, sees the counts reset for it.
            second.time.store(now, std::memory_order_release);
        }
        second.counts[kind].fetch_add(1, std::memory_order_relaxed);
    }

    // The number of events in the `seconds` complete seconds before `now`;
    // `seconds` must be below kSeconds.
    std::uint64_t count(std::size_t kind, std::uint32_t now,
                        std::uint32_t seconds) const noexcept
    {
        std::uint64_t sum = 0;
        for (std::uint32_t time = now - seconds; time != now; ++time) {
            const Second& second = seconds_[time % kSeconds];
            if (second.time.load(std::memory_order_acquire) == time) {
                sum += second.counts[kind].load(std::memory_order_relaxed);
            }
        }
        return sum;
    }

private:
    struct Second {
        std::atomic<std::uint32_t> time{0};
        std::array<std::atomic<std::uint32_t>, Kinds> counts{};
    };
    std::array<Second, kSeconds> seconds_;
};

}  // namespace petstore::metrics
