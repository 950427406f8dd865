#include "threaded_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

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
