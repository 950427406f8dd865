#include "raw_client.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "threaded_server.h"

namespace petstore::e2e {

RawClient::RawClient(int port) : fd_(connect_tcp(port))
{
    if (fd_ < 0) {
        throw HarnessError("nobody listens on " + std::to_string(port));
    }
}

RawClient::~RawClient()
{
    close();
}

void RawClient::close()
{
    if (fd_ >= 0) {
        ::close(fd_);
        fd_ = -1;
    }
}

void RawClient::reset()
{
    const linger now{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close();
}

void RawClient::send(std::string_view bytes)
{
    if (!send_all(fd_, bytes)) {
        throw HarnessError("the server closed while we sent");
    }
}

void RawClient::send_bytewise(std::string_view bytes)
{
    for (const char byte : bytes) {
        send({&byte, 1});
        // Waits for the acknowledgement, so that the byte is sent in its own
        // segment.
        wait_until([this] {
            int unsent = 0;
            return ioctl(fd_, SIOCOUTQ, &unsent) != 0 || unsent == 0;
        });
    }
}

void RawClient::finish_sending()
{
    shutdown(fd_, SHUT_WR);
}

bool RawClient::readable(std::chrono::milliseconds timeout)
{
    if (!buffer_.empty()) {
        return true;
    }
    pollfd wait{fd_, POLLIN, 0};
    return poll(&wait, 1, static_cast<int>(timeout.count())) > 0;
}

bool RawClient::receive(std::chrono::milliseconds timeout)
{
    pollfd wait{fd_, POLLIN, 0};
    if (poll(&wait, 1, static_cast<int>(timeout.count())) <= 0) {
        throw HarnessError("no response in time, so far: " + buffer_);
    }
    return receive_some(fd_, buffer_);
}

std::string RawClient::take(std::size_t size)
{
    while (buffer_.size() < size) {
        if (!receive(60s)) {
            throw HarnessError("the response ends early: " + buffer_);
        }
    }
    auto bytes = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return bytes;
}

std::string RawClient::take_line()
{
    std::size_t end;
    while ((end = buffer_.find("\r\n")) == std::string::npos) {
        if (!receive(60s)) {
            throw HarnessError("the response ends early: " + buffer_);
        }
    }
    auto line = buffer_.substr(0, end);
    buffer_.erase(0, end + 2);
    return line;
}

Response RawClient::read(bool head)
{
    Response response;
    const std::string status = take_line();
    if (status.rfind("HTTP/", 0) != 0 || status.size() < 12) {
        throw HarnessError("no status line: " + status);
    }
    response.version = status.substr(5, 3);
    response.status = std::atoi(status.c_str() + 9);
    for (std::string line = take_line(); !line.empty(); line = take_line()) {
        const auto colon = line.find(':');
        if (colon == std::string::npos) {
            throw HarnessError("no header: " + line);
        }
        auto value = line.substr(colon + 1);
        value.erase(0, value.find_first_not_of(' '));
        response.headers.emplace_back(to_lower(line.substr(0, colon)), value);
    }
    if (head || response.status < 200 || response.status == 204
        || response.status == 304) {
        return response;
    }
    if (response.header("transfer-encoding") == "chunked") {
        for (;;) {
            const auto size = std::stoul(take_line(), nullptr, 16);
            response.body += take(size);
            take_line();
            if (size == 0) {
                return response;
            }
        }
    }
    if (response.has("content-length")) {
        response.body = take(std::stoul(response.header("content-length")));
        return response;
    }
    while (receive(60s)) {
    }
    response.body = std::move(buffer_);
    buffer_.clear();
    return response;
}

bool RawClient::closes(std::chrono::milliseconds timeout)
{
    return read_all(timeout).empty();
}

std::string RawClient::read_all(std::chrono::milliseconds timeout)
{
    while (receive(timeout)) {
    }
    return std::exchange(buffer_, {});
}

}  // namespace petstore::e2e
