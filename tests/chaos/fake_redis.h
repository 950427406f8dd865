#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "e2e/support/redis_client.h"
#include "e2e/support/redis_server.h"
#include "e2e/support/threaded_server.h"
#include "e2e/support/util.h"

namespace petstore::e2e {

// A server on a unix socket or a TCP port that replies as the test wants: late,
// wrongly or not at all. A script maps each command to the bytes of its reply;
// it may forward the command to a real Redis first, see forward_to().
class FakeRedis {
public:
    struct Answer {
        std::string bytes;
        bool bytewise = false;  // one byte at a time
        bool close = false;     // afterwards
    };
    using Script = std::function<Answer(const Words& command)>;

    enum class Socket { unix_socket, tcp };

    explicit FakeRedis(Script script, Socket socket = Socket::unix_socket);

    std::string url() const
    {
        return port_ == 0 ? "unix:" + path_ : "redis://" + address();
    }
    std::string address() const;  // host:port, of a TCP port

    // Sends unsolicited bytes on all connections.
    void push(const std::string& bytes);

    // Holds back all replies until release(), which sends them in order.
    void hold() { server_.hold(); }
    void release() { server_.release(); }
    // Closes all connections; with `refuse`, also rejects new ones until
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
    int port_ = 0;
    std::atomic<int> commands_{0};
    std::mutex mutex_;
    std::set<int> fds_;
    ThreadedServer server_;
};

// Replies with the unchanged bytes of a real Redis.
FakeRedis::Script forward_to(const RedisServer& redis, bool bytewise = false);

}  // namespace petstore::e2e
