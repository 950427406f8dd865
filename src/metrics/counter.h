#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace petstore::metrics {

// In shared memory: one worker adds, all read. Atomic because workers share one
// if the zone is too small for a slot per worker. Relaxed, here and in Gauge,
// because readers only sum: no other memory depends on a count.
class Counter {
public:
    void add(std::uint64_t n = 1) noexcept
    {
        value_.fetch_add(n, std::memory_order_relaxed);
    }

    std::uint64_t get() const noexcept
    {
        return value_.load(std::memory_order_relaxed);
    }

private:
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
    std::atomic<std::uint64_t> value_{0};
};

// A small number that goes up and down. One process writes it.
class Gauge {
public:
    void add() noexcept { value_.fetch_add(1, std::memory_order_relaxed); }
    void subtract() noexcept { value_.fetch_sub(1, std::memory_order_relaxed); }
    void reset() noexcept { value_.store(0, std::memory_order_relaxed); }

    unsigned get() const noexcept
    {
        return value_.load(std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint16_t> value_{0};
};

// Upper bounds of a histogram's buckets, in microseconds. A last bucket without
// a bound follows.
inline constexpr std::array<std::uint64_t, 13> kBounds = {
    500,     1'000,   2'500,   5'000,     10'000,    25'000,   50'000,
    100'000, 250'000, 500'000, 1'000'000, 2'500'000, 5'000'000};
inline constexpr std::size_t kBuckets = kBounds.size() + 1;

class Histogram {
public:
    void add(std::uint64_t micros) noexcept
    {
        std::size_t i = 0;
        while (i < kBounds.size() && micros > kBounds[i]) {
            ++i;
        }
        buckets_[i].add();
        sum_.add(micros);
    }

    std::uint64_t bucket(std::size_t i) const noexcept
    {
        return buckets_[i].get();
    }
    std::uint64_t sum() const noexcept { return sum_.get(); }

private:
    std::array<Counter, kBuckets> buckets_;  // not cumulative
    Counter sum_;                            // microseconds
};

// Hits and misses of one cache.
class Lookups {
public:
    void add(bool hit) noexcept { (hit ? hits_ : misses_).add(); }

    std::uint64_t hits() const noexcept { return hits_.get(); }
    std::uint64_t misses() const noexcept { return misses_.get(); }

private:
    Counter hits_;
    Counter misses_;
};

struct CacheLookups {
    Lookups key;
    Lookups pet;
    Lookups response;
};

}  // namespace petstore::metrics
