#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "redis_client.h"
#include "redis_server.h"
#include "threaded_server.h"
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

    std::string url() const { return "unix:" + path_; }

    // From now on nothing is answered, until release(): then all that was
    // asked meanwhile is answered in order, late.
    void hold() { server_.hold(); }
    void release() { server_.release(); }
    // Closes all connections; with `refuse`, also new ones until
    // accept_again().
    void drop(bool refuse = false) { server_.drop(refuse); }
    void accept_again() { server_.accept_again(); }

    int connections() const { return server_.connections(); }  // ever made
    int open() const { return server_.open(); }
    int commands() const { return commands_; }  // ever received

private:
    void serve(int fd);
    bool deliver(int fd, const Answer& answer) const;

    Script script_;
    TempDir dir_;
    std::string path_;
    std::atomic<int> commands_{0};
    ThreadedServer server_;
};

// The answer of a real Redis, as it came.
FakeRedis::Script forward_to(const RedisServer& redis, bool bytewise = false);

}  // namespace petstore::e2e
