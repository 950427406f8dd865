#include "fake_redis.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace petstore::e2e {

FakeRedis::FakeRedis(Script script)
    : script_(std::move(script)), path_(dir_ / "fake.sock")
{
    listen();
    acceptor_ = std::thread([this] {
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
            threads_.emplace_back([this, fd] { serve(fd); });
        }
    });
}

FakeRedis::~FakeRedis()
{
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        for (const int fd : fds_) {
            shutdown(fd, SHUT_RDWR);
        }
    }
    changed_.notify_all();
    shutdown(listener_, SHUT_RDWR);
    acceptor_.join();
    for (auto& thread : threads_) {
        thread.join();
    }
    close(listener_);
}

void FakeRedis::listen()
{
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path_.c_str(), sizeof(address.sun_path) - 1);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address))
            != 0
        || chmod(path_.c_str(), 0777) != 0 || ::listen(listener_, 64) != 0) {
        throw HarnessError("cannot listen on " + path_);
    }
}

void FakeRedis::hold()
{
    const std::lock_guard lock(mutex_);
    held_ = true;
}

void FakeRedis::release()
{
    {
        const std::lock_guard lock(mutex_);
        held_ = false;
    }
    changed_.notify_all();
}

void FakeRedis::drop(bool refuse)
{
    const std::lock_guard lock(mutex_);
    refuse_ = refuse;
    for (const int fd : fds_) {
        shutdown(fd, SHUT_RDWR);
    }
}

void FakeRedis::accept_again()
{
    const std::lock_guard lock(mutex_);
    refuse_ = false;
}

bool FakeRedis::deliver(int fd, const Answer& answer) const
{
    const std::size_t step = answer.bytewise ? 1 : answer.bytes.size();
    for (std::size_t at = 0; at < answer.bytes.size(); at += step) {
        if (send(fd, answer.bytes.data() + at, step, 0)
            != static_cast<ssize_t>(step)) {
            return false;
        }
        if (answer.bytewise) {
            // On a unix socket this counts what the reader has not taken yet.
            wait_until([fd] {
                int unread = 0;
                return ioctl(fd, SIOCOUTQ, &unread) != 0 || unread == 0;
            });
        }
    }
    return true;
}

void FakeRedis::serve(int fd)
{
    std::string input;
    for (bool going = true; going;) {
        char chunk[65536];
        const auto n = recv(fd, chunk, sizeof(chunk), 0);
        if (n <= 0) {
            break;
        }
        input.append(chunk, static_cast<std::size_t>(n));
        Value command;
        while (going && take_value(input, command)) {
            Words words;
            for (const auto& item : command.items) {
                words.push_back(item.text);
            }
            ++commands_;
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [this] { return !held_ || ending_; });
            }
            try {
                const Answer answer = script_(words);
                going = deliver(fd, answer) && !answer.close;
            } catch (const HarnessError&) {
                going = false;  // the real one behind is gone
            }
        }
    }
    --open_;
    const std::lock_guard lock(mutex_);
    fds_.erase(std::find(fds_.begin(), fds_.end(), fd));
    close(fd);
}

FakeRedis::Script forward_to(const RedisServer& redis, bool bytewise)
{
    // Connections of the module may be several; one real connection in turn.
    auto mutex = std::make_shared<std::mutex>();
    auto client = std::make_shared<std::unique_ptr<RedisClient>>();
    return [&redis, bytewise, mutex, client](const Words& command) {
        const std::lock_guard lock(*mutex);
        if (!*client) {
            *client = std::make_unique<RedisClient>(redis.client());
        }
        return FakeRedis::Answer{(*client)->raw_command(command), bytewise};
    };
}

}  // namespace petstore::e2e
