#include "threaded_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "util.h"

namespace petstore::e2e {

ThreadedServer::ThreadedServer(int listener, Serve serve)
    : listener_(listener), serve_(std::move(serve)),
      acceptor_([this] { accept(); })
{}

ThreadedServer::~ThreadedServer()
{
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        shut_down_connections();
    }
    changed_.notify_all();
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (auto& thread : threads_) {
        thread.join();
    }
    close(listener_);
}

void ThreadedServer::hold()
{
    const std::lock_guard lock(mutex_);
    held_ = true;
}

void ThreadedServer::release()
{
    {
        const std::lock_guard lock(mutex_);
        held_ = false;
    }
    changed_.notify_all();
}

void ThreadedServer::wait_while_held()
{
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !held_ || ending_; });
}

void ThreadedServer::drop(bool refuse)
{
    const std::lock_guard lock(mutex_);
    refuse_ = refuse;
    shut_down_connections();
}

void ThreadedServer::accept_again()
{
    const std::lock_guard lock(mutex_);
    refuse_ = false;
}

void ThreadedServer::accept()
{
    for (;;) {
        const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0) {
            return;
        }
        const std::lock_guard lock(mutex_);
        if (ending_ || refuse_) {
            close(fd);
            continue;
        }
        ++connections_;
        ++open_;
        fds_.push_back(fd);
        threads_.emplace_back([this, fd] { run(fd); });
    }
}

void ThreadedServer::run(int fd)
{
    serve_(fd);
    --open_;
    const std::lock_guard lock(mutex_);
    fds_.erase(std::find(fds_.begin(), fds_.end(), fd));
    close(fd);
}

void ThreadedServer::shut_down_connections() const
{
    for (const int fd : fds_) {
        shutdown(fd, SHUT_RDWR);
    }
}

int listen_tcp(int port)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, own_address().c_str(), &address.sin_addr);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0
        || listen(fd, 1024) != 0) {
        throw HarnessError("cannot listen on port " + std::to_string(port));
    }
    return fd;
}

bool send_all(int fd, std::string_view bytes)
{
    while (!bytes.empty()) {
        const auto n = send(fd, bytes.data(), bytes.size(), 0);
        if (n <= 0) {
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

bool receive_some(int fd, std::string& buffer)
{
    char chunk[65536];
    const auto n = recv(fd, chunk, sizeof(chunk), 0);
    if (n <= 0) {
        return false;
    }
    buffer.append(chunk, static_cast<std::size_t>(n));
    return true;
}

}  // namespace petstore::e2e
