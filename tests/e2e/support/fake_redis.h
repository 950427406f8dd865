#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "redis_client.h"
#include "redis_server.h"
#include "util.h"

namespace petstore::e2e {

// A Redis that lies, dawdles or falls silent, on a unix socket. What it does
// is a function from a command to bytes; with a real Redis behind it, that
// function can ask there first.
class FakeRedis {
public:
    struct Answer {
        std::string bytes;
        bool bytewise = false;  // the reader gets every byte by itself
        bool close = false;     // afterwards
    };
    using Script = std::function<Answer(const Words& command)>;

    explicit FakeRedis(Script script);
    ~FakeRedis();

    std::string url() const { return "unix:" + path_; }

    // From now on nothing is answered, until release(): then all that was
    // asked meanwhile is answered in order, late.
    void hold();
    void release();
    // Closes all connections; with `refuse`, takes no new ones either.
    void drop(bool refuse = false);
    void accept_again();

    int connections() const { return connections_; }  // ever made
    int open() const { return open_; }
    int commands() const { return commands_; }  // ever received

private:
    void listen();
    void serve(int fd);
    bool deliver(int fd, const Answer& answer) const;

    Script script_;
    TempDir dir_;
    std::string path_;
    int listener_ = -1;
    std::thread acceptor_;
    std::vector<std::thread> threads_;

    std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false;
    bool ending_ = false;
    bool refuse_ = false;
    std::vector<int> fds_;
    std::atomic<int> connections_{0};
    std::atomic<int> open_{0};
    std::atomic<int> commands_{0};
};

// The answer of a real Redis, as it came.
FakeRedis::Script forward_to(const RedisServer& redis, bool bytewise = false);

}  // namespace petstore::e2e
