#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "e2e/support/redis_server.h"
#include "e2e/support/util.h"

namespace petstore::e2e {

// A network fault between nginx and Redis, until it is changed. Faults can be
// combined where that makes sense.
struct NetworkFault {
    std::chrono::milliseconds latency{0};  // of each piece of a reply
    std::size_t slice = 0;                 // bytes at a time, both ways
    std::size_t bytes_per_second = 0;      // of replies; 0: no limit
    // Resets once, after this many bytes of replies from now on.
    std::optional<std::size_t> reset_after = std::nullopt;
    bool half_open = false;  // drops everything, both ways
    bool close = false;      // closes instead of passing on a command
    // Forgets a connection over which nothing passed for this long, as a
    // gateway does; 0: never. Later bytes are dropped or, if
    // `resets_forgotten`, answered with a reset.
    std::chrono::milliseconds forgets_after{0};
    bool resets_forgotten = false;
};

// A faulty network in front of a real Redis: nginx connects to a port of
// 127.0.0.1, and each connection has one to Redis and two threads that copy.
// Works faithfully until set(), which also affects existing connections.
class FaultProxy {
public:
    // `tls_port`: that Redis's port for TLS through the proxy.
    explicit FaultProxy(const RedisServer& redis, int tls_port = 0);
    ~FaultProxy();
    FaultProxy(const FaultProxy&) = delete;
    FaultProxy& operator=(const FaultProxy&) = delete;

    std::string url() const;
    int port() const { return port_; }  // of every address of this machine

    void set(const NetworkFault& fault);
    void heal() { set({}); }

    int connections() const { return connections_; }  // ever made
    int open() const { return open_; }
    // Since set(): connections reset, and bytes swallowed.
    int resets() const { return resets_; }
    std::size_t swallowed() const { return swallowed_; }

    // The number of open connections that the gateway has forgotten.
    int forgotten() const;

private:
    struct Connection {
        int client = -1;
        int server = -1;
        std::thread requests;
        std::thread replies;
        std::atomic<int> copying{2};
        std::atomic<bool> reset{false};
        std::atomic<Clock::time_point> passed_at{Clock::now()};
        std::atomic<bool> forgotten{false};
    };

    void accept();
    void copy_requests(Connection& connection);
    void copy_replies(Connection& connection);
    bool pass_on_reply(Connection& connection, std::string_view bytes);
    bool swallow(std::size_t size);
    bool forgets(Connection& connection, std::size_t size);
    std::optional<std::size_t> take_budget(std::size_t size);
    void wait(std::chrono::milliseconds time) const;
    void stop(Connection& connection);
    void leave(Connection& connection, bool ends = true);
    NetworkFault fault() const;

    const RedisServer& redis_;
    const int tls_port_;
    int listener_ = -1;
    int port_ = 0;

    mutable std::mutex mutex_;  // protects the fault and the list
    NetworkFault fault_;
    std::list<Connection> list_;
    std::atomic<bool> ending_{false};
    std::atomic<int> connections_{0};
    std::atomic<int> open_{0};
    std::atomic<int> resets_{0};
    std::atomic<std::size_t> swallowed_{0};
    std::thread acceptor_;
};

}  // namespace petstore::e2e
