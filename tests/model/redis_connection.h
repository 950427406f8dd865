#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "redis/command.h"
#include "redis/decoder.h"

// Commands over a Redis's unix socket, pipelined.
class RedisConnection {
public:
    explicit RedisConnection(const std::string& path)
        : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path.copy(address.sun_path, sizeof(address.sun_path) - 1);
        const timeval timeout = {20, 0};
        setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
        setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
        check(connect(fd_, reinterpret_cast<const sockaddr*>(&address),
                      sizeof(address))
              == 0);
    }
    RedisConnection(const RedisConnection&) = delete;
    RedisConnection& operator=(const RedisConnection&) = delete;
    ~RedisConnection() { close(fd_); }

    // Buffers the command until the next get().
    void append(const petstore::redis::Command& command)
    {
        command.append_to(output_);
    }

    // Sends the appended commands and waits for the next reply, which is valid
    // until the next call.
    const petstore::redis::Reply& get()
    {
        using State = petstore::redis::Decoder::State;
        for (std::size_t done = 0; done < output_.size();) {
            const auto sent = send(fd_, output_.data() + done,
                                   output_.size() - done, MSG_NOSIGNAL);
            check(sent > 0);
            done += static_cast<std::size_t>(sent);
        }
        output_.clear();
        for (;;) {
            const petstore::redis::Reply* reply = nullptr;
            const State state = decoder_.next(reply);
            if (state == State::reply) {
                return *reply;
            }
            check(state == State::incomplete);
            char input[65536];
            const auto got = recv(fd_, input, sizeof(input), 0);
            check(got > 0);
            decoder_.feed({input, static_cast<std::size_t>(got)});
        }
    }

private:
    static void check(bool good)
    {
        if (!good) {
            throw std::runtime_error("the connection to Redis failed");
        }
    }

    int fd_;
    std::string output_;
    petstore::redis::Decoder decoder_{
        {4, std::size_t{1} << 20, std::size_t{512} << 20}};
};
