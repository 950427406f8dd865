#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace petstore::e2e {

// Accepts connections and serves each in a thread. Must be the last member of
// its owner, because the threads use the others.
class ThreadedServer {
public:
    // Serves one connection until it returns.
    using Serve = std::function<void(int fd)>;

    // Takes over `listener`, a listening socket.
    ThreadedServer(int listener, Serve serve);
    ~ThreadedServer();  // ends all connections

    // While held, the threads block in wait_while_held().
    void hold();
    void release();
    void wait_while_held();

    // Closes all connections; with `refuse`, also rejects new ones until
    // accept_again().
    void drop(bool refuse);
    void accept_again();

    int connections() const { return connections_; }  // ever accepted
    int open() const { return open_; }

private:
    void accept();
    void run(int fd);
    void shut_down_connections() const;  // under the lock

    const int listener_;
    const Serve serve_;
    std::mutex mutex_;
    std::condition_variable changed_;
    bool held_ = false;
    bool ending_ = false;
    bool refuse_ = false;
    std::vector<int> fds_;
    std::atomic<int> connections_{0};
    std::atomic<int> open_{0};
    std::vector<std::thread> threads_;
    std::thread acceptor_;
};

// A listening socket at own_address().
int listen_tcp(int port);

// Returns false if the connection has ended.
bool send_all(int fd, std::string_view bytes);

// Waits for bytes and appends them. Returns false at the end of the connection.
bool receive_some(int fd, std::string& buffer);

}  // namespace petstore::e2e
