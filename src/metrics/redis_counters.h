#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "counter.h"

namespace petstore::metrics {

// Why a Redis failed: its connection, an attempt to connect, or a command.
enum class Failure {
    resolve,   // no address: DNS, or the Sentinels
    connect,   // refused, unreachable or too slow
    tls,       // the TLS handshake
    login,     // an error instead of the handshake's replies
    replica,   // the server is not a primary, or not any more
    closed,    // the connection was lost
    timeout,   // no reply in time
    protocol,  // not the Redis protocol
    error,     // an error in reply to a command
    other,     // such as out of memory
    count,
};

std::string_view to_string(Failure failure) noexcept;

// The connections that one worker maintains to one Redis.
struct RedisLinks {
    Gauge all;
    Gauge down;  // those whose breaker is open
};

// Counts one link while it exists, and as down while that is said of it.
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
    CountedLink& operator=(const CountedLink&) = delete;

    void set_down(bool down) noexcept
    {
        if (down != down_) {
            down_ = down;
            down ? links_.down.add() : links_.down.subtract();
        }
    }

private:
    RedisLinks& links_;
    bool down_ = false;
};

// Of one Redis, as one worker sees it.
struct RedisCounters {
    Counter commands;
    std::array<Counter, static_cast<std::size_t>(Failure::count)> failures;
    Counter rejections;  // requests or commands refused: a queue is full

    void add(Failure failure) noexcept
    {
        failures[static_cast<std::size_t>(failure)].add();
    }
};

// Where a link to a Redis counts. Shared by all links with the same name.
struct RedisMeter {
    RedisCounters& redis;
    RedisLinks& links;
    Histogram& duration;  // of the commands, for all servers together
};

// A worker's meters. They are valid as long as it lives.
class RedisMeters {
public:
    // `name` is that in the log.
    virtual RedisMeter meter(std::string_view name) noexcept = 0;

protected:
    ~RedisMeters() = default;
};

}  // namespace petstore::metrics
