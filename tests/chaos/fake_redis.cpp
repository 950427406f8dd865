#include "fake_redis.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstring>
#include <memory>

namespace petstore::e2e {

namespace {

int listen_at(const std::string& path)
{
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0
        || chmod(path.c_str(), 0777) != 0 || listen(fd, 64) != 0) {
        throw HarnessError("cannot listen on " + path);
    }
    return fd;
}

}  // namespace

FakeRedis::FakeRedis(Script script, Socket socket)
    : script_(std::move(script)), path_(dir_ / "fake.sock"),
      port_(socket == Socket::tcp ? free_port() : 0),
      server_(port_ == 0 ? listen_at(path_) : listen_tcp(port_),
              [this](int fd) {
                  {
                      const std::lock_guard lock(mutex_);
                      fds_.insert(fd);
                  }
                  serve(fd);
                  const std::lock_guard lock(mutex_);
                  fds_.erase(fd);
              })
{}

std::string FakeRedis::address() const
{
    return own_address() + ":" + std::to_string(port_);
}

void FakeRedis::push(const std::string& bytes)
{
    const std::lock_guard lock(mutex_);
    for (const int fd : fds_) {
        send_all(fd, bytes);
    }
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
            // On a unix socket this counts the bytes that the peer has not read
            // yet.
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
    bool going = true;
    while (going && receive_some(fd, input)) {
        Value command;
        while (going && take_value(input, command)) {
            Words words;
            for (const auto& item : command.items) {
                words.push_back(item.text);
            }
            ++commands_;
            server_.wait_while_held();
            try {
                const Answer answer = script_(words);
                going = deliver(fd, answer) && !answer.close;
            } catch (const HarnessError&) {
                going = false;  // the real Redis is gone
            }
        }
    }
}

FakeRedis::Script forward_to(const RedisServer& redis, bool bytewise)
{
    // The module's connections share one connection to the real Redis.
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
