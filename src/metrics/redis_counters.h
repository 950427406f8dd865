#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "counter.h"

namespace petstore::metrics {

// Why a connection to Redis, an attempt to connect, or a command failed.
enum class FailureCause {
    resolve,   // no address: DNS, or the Sentinels
    connect,   // refused, unreachable or too slow
    tls,       // the TLS handshake
    login,     // an error reply during the handshake
    replica,   // the server is not, or no longer, a primary
    closed,    // the connection was lost
    timeout,   // no reply in time
    protocol,  // not the Redis protocol
    error,     // an error in reply to a command
    other,     // such as out of memory
    count,
};

std::string_view to_string(FailureCause cause) noexcept;

// The connections that one worker maintains to one Redis.
struct RedisLinks {
    Gauge all;
    Gauge down;  // links whose breaker is open
};

// Counts one link while it exists, and counts it as down while it is marked so.
class CountedLink {
public:
    explicit CountedLink(RedisLinks& links) noexcept : links_(links)
    {
        links_.all.add();
    }
    ~CountedLink()
    {
        set_down(false);
        links_.all.subtract();
    }
    CountedLink(const CountedLink&) = delete;

    void set_down(bool down) noexcept
    {
        if (down != down_) {
            down_ = down;
            if (down) {
                links_.down.add();
            } else {
                links_.down.subtract();
            }
        }
    }

private:
    RedisLinks& links_;
    bool down_ = false;
};

// One worker's counters for one Redis.
struct RedisCounters {
    Counter commands;
    std::array<Counter, static_cast<std::size_t>(FailureCause::count)> failures;
    Counter rejections;  // requests or commands refused: a queue is full

    void add(FailureCause cause) noexcept
    {
        failures[static_cast<std::size_t>(cause)].add();
    }
};

// The counters that a link to a Redis updates. Shared by all links with the
// same name.
struct RedisMeter {
    RedisCounters& redis;
    RedisLinks& links;
    Histogram& duration;  // of the commands, for all servers together
};

// A worker's meters, valid for the lifetime of this object.
class RedisMeters {
public:
    // `name` is the name used in the log.
    virtual RedisMeter meter(std::string_view name) noexcept = 0;

protected:
    ~RedisMeters() = default;
};

}  // namespace petstore::metrics
