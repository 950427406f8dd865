#include "redis_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace petstore::e2e {

namespace {

bool take_at(const std::string& bytes, std::size_t& at, Value& value)
{
    const auto end = bytes.find("\r\n", at);
    if (end == std::string::npos) {
        return false;
    }
    const char kind = bytes[at];
    const std::string line = bytes.substr(at + 1, end - at - 1);
    at = end + 2;
    value = {};
    switch (kind) {
    case '+':
    case '-':
        value.type = kind == '+' ? Value::Type::text : Value::Type::error;
        value.text = line;
        return true;
    case ':':
        value.type = Value::Type::integer;
        value.integer = std::atoll(line.c_str());
        return true;
    case '$':
    case '*':
        break;
    default:
        throw HarnessError("no RESP: " + bytes.substr(0, 40));
    }
    const long long size = std::atoll(line.c_str());
    if (size < 0) {
        return true;
    }
    if (kind == '$') {
        const auto length = static_cast<std::size_t>(size);
        if (bytes.size() < at + length + 2) {
            return false;
        }
        value.type = Value::Type::text;
        value.text = bytes.substr(at, length);
        at += length + 2;
        return true;
    }
    value.type = Value::Type::array;
    value.items.resize(static_cast<std::size_t>(size));
    for (auto& item : value.items) {
        if (!take_at(bytes, at, item)) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::string encode(const Words& command)
{
    std::string bytes = "*" + std::to_string(command.size()) + "\r\n";
    for (const auto& word : command) {
        bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    return bytes;
}

bool take_value(std::string& bytes, Value& value)
{
    std::size_t at = 0;
    if (!take_at(bytes, at, value)) {
        return false;
    }
    bytes.erase(0, at);
    return true;
}

RedisClient::RedisClient(const std::string& unix_path)
    : fd_(connect_unix(unix_path))
{
    if (fd_ < 0) {
        throw HarnessError("no Redis at " + unix_path);
    }
}

RedisClient::~RedisClient()
{
    if (fd_ >= 0) {
        close(fd_);
    }
}

RedisClient::RedisClient(RedisClient&& other) noexcept
    : fd_(other.fd_), buffer_(std::move(other.buffer_))
{
    other.fd_ = -1;
}

void RedisClient::send(const std::string& bytes)
{
    std::size_t sent = 0;
    while (sent < bytes.size()) {
        const auto n = ::send(fd_, bytes.data() + sent, bytes.size() - sent, 0);
        if (n <= 0) {
            throw HarnessError("connection to Redis broke");
        }
        sent += static_cast<std::size_t>(n);
    }
}

bool RedisClient::receive(std::chrono::milliseconds timeout)
{
    pollfd wait{fd_, POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>(timeout.count())) <= 0) {
        return false;
    }
    char chunk[65536];
    const auto n = recv(fd_, chunk, sizeof(chunk), 0);
    if (n <= 0) {
        throw HarnessError("Redis closed the connection");
    }
    buffer_.append(chunk, static_cast<std::size_t>(n));
    return true;
}

Value RedisClient::read()
{
    Value value;
    while (!take_value(buffer_, value)) {
        if (!receive(60s)) {
            throw HarnessError("Redis does not answer");
        }
    }
    return value;
}

Value RedisClient::command(const Words& words)
{
    send(encode(words));
    return read();
}

std::string RedisClient::raw_command(const Words& words)
{
    send(encode(words));
    for (;;) {
        std::string rest = buffer_;
        Value value;
        if (take_value(rest, value)) {
            std::string raw = buffer_.substr(0, buffer_.size() - rest.size());
            buffer_ = std::move(rest);
            return raw;
        }
        if (!receive(60s)) {
            throw HarnessError("Redis does not answer");
        }
    }
}

bool RedisClient::read_line(std::string& line,
                            std::chrono::milliseconds timeout)
{
    for (;;) {
        const auto end = buffer_.find("\r\n");
        if (end != std::string::npos) {
            line = buffer_.substr(0, end);
            buffer_.erase(0, end + 2);
            return true;
        }
        if (!receive(timeout)) {
            return false;
        }
    }
}

}  // namespace petstore::e2e
