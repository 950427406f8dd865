#pragma once

#include <deque>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "actors.h"
#include "e2e/support/redis_client.h"
#include "e2e/support/redis_server.h"

namespace petstore::e2e {

// A proxy between nginx and a real Redis, on a unix socket and a TCP port of
// 127.0.0.1. Forwards faithfully until misbehave(): then it delays, slices,
// freezes, closes and, if allowed, lies, by a seeded schedule. Calm periods let
// nginx reconnect.
class RedisProxy {
public:
    RedisProxy(const RedisServer& redis, Journal& journal);
    ~RedisProxy();
    RedisProxy(const RedisProxy&) = delete;
    RedisProxy& operator=(const RedisProxy&) = delete;

    std::string unix_url() const { return "unix:" + path_; }
    std::string tcp_url() const;

    void misbehave(std::uint64_t seed, bool may_lie);
    // Forwards faithfully again. Closes all connections, because lies may have
    // left them out of sync.
    void behave();

    int open() const { return open_; }

private:
    struct Chunk {
        Clock::time_point due;
        std::string bytes;
        bool close = false;  // instead of bytes
        bool reset = false;
    };
    struct Connection {
        int client = -1;
        int server = -1;
        std::string requests;           // incomplete, only inspected
        std::string replies;            // incomplete
        std::deque<std::string> asked;  // names of commands without a reply
        std::string to_server;
        std::deque<Chunk> to_client;
        Clock::time_point frozen_until{};
        int first_lies = 0;  // lies left for the first reads
        bool server_ended = false;
        bool ended = false;
    };
    // Chances in percent (`lie`: per thousand), for each reply unless stated
    // otherwise.
    struct Faults {
        const char* name = "faithful";
        int delay = 0;
        int delay_ms = 0;
        int slice = 0;
        int freeze = 0;
        int freeze_ms = 0;
        int close = 0;
        int lie = 0;
        int refuse = 0;  // for each new connection
    };

    void listen();
    void run();
    int wait_time() const;
    void change_faults();
    void accept(int listener);
    void from_client(Connection& connection);
    void from_server(Connection& connection);
    void pass_on(Connection& connection, std::string reply);
    void queue(Connection& connection, const std::string& bytes,
               Clock::time_point due);
    void write(Connection& connection);
    void end(Connection& connection, bool reset = false);
    void wake() const;

    const RedisServer& redis_;
    Journal& journal_;
    TempDir dir_;
    std::string path_;
    int port_ = 0;
    int listeners_[2] = {-1, -1};
    int wake_[2] = {-1, -1};

    std::mutex mutex_;  // of everything below
    bool ending_ = false;
    bool misbehaving_ = false;
    bool may_lie_ = false;
    bool close_all_ = false;
    Random random_{0, "proxy"};
    Faults faults_;
    Clock::time_point next_faults_{};
    std::list<Connection> connections_;
    std::atomic<int> open_{0};

    std::thread thread_;
};

}  // namespace petstore::e2e
