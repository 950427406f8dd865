#include "socket_stream.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <netdb.h>
#include <new>
#include <sys/socket.h>
#include <sys/time.h>
#include <system_error>
#include <vector>

namespace petstore::redis {

namespace {

timeval to_timeval(ByteStream::Timeout timeout)
{
    timeval value = {};
    value.tv_sec = static_cast<time_t>(timeout.count() / 1000);
    value.tv_usec = static_cast<suseconds_t>(timeout.count() % 1000 * 1000);
    return value;
}

// Whether the socket has nothing to give or take now. Throws other errors.
bool would_block(int error)
{
    if (error == EAGAIN || error == EWOULDBLOCK) {
        return true;
    }
    throw ConnectionError(std::generic_category().message(error));
}

// In text form, IPv4 first, as hiredis prefers. Empty if the host has none.
std::vector<std::string> addresses_of(const std::string& host)
{
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (getaddrinfo(host.c_str(), nullptr, &hints, &list) != 0) {
        return {};
    }
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(
        list, freeaddrinfo);
    std::vector<std::string> found;
    for (const int family : {AF_INET, AF_INET6}) {
        for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
            char text[NI_MAXHOST];
            if (one->ai_family == family
                && getnameinfo(one->ai_addr, one->ai_addrlen, text,
                               sizeof(text), nullptr, 0, NI_NUMERICHOST)
                       == 0) {
                found.emplace_back(text);
            }
        }
    }
    return found;
}

class SocketStream final : public ByteStream {
public:
    // Owns the hiredis context and its socket.
    explicit SocketStream(redisContext* made) : hiredis_(made)
    {
        if (!hiredis_) {
            throw std::bad_alloc();
        }
        if (hiredis_->err) {
            const std::string why = hiredis_->errstr;
            redisFree(hiredis_);
            throw ConnectionError(why);
        }
        const int flags = fcntl(hiredis_->fd, F_GETFL);
        fcntl(hiredis_->fd, F_SETFL, flags | O_NONBLOCK);
    }
    SocketStream(const SocketStream&) = delete;
    SocketStream& operator=(const SocketStream&) = delete;
    ~SocketStream() override { redisFree(hiredis_); }

    std::size_t write(std::string_view bytes) override
    {
        for (;;) {
            // A lost connection is an error to report, not a SIGPIPE.
            const ssize_t sent =
                send(hiredis_->fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent >= 0) {
                return static_cast<std::size_t>(sent);
            }
            if (errno != EINTR && would_block(errno)) {
                return 0;
            }
        }
    }

    std::optional<std::size_t> read(char* buffer, std::size_t size) override
    {
        for (;;) {
            const ssize_t got = recv(hiredis_->fd, buffer, size, 0);
            if (got >= 0) {
                return static_cast<std::size_t>(got);
            }
            if (errno != EINTR && would_block(errno)) {
                return std::nullopt;
            }
        }
    }

    int descriptor() const noexcept override { return hiredis_->fd; }

private:
    redisContext* hiredis_;
};

std::unique_ptr<ByteStream> connect_address(const std::string& address,
                                            int port,
                                            ByteStream::Timeout timeout)
{
    redisContext* const made =
        redisConnectWithTimeout(address.c_str(), port, to_timeval(timeout));
    auto stream = std::make_unique<SocketStream>(made);
    (void)redisEnableKeepAlive(made);  // after 15 s, 3 probes in 15 s
    return stream;
}

}  // namespace

// Tries all addresses of the host: hiredis gives up at the first one that
// refuses a connection. Each gets an equal share of the time that is left.
std::unique_ptr<ByteStream> connect_tcp(const std::string& host, int port,
                                        ByteStream::Timeout timeout)
{
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + timeout;
    auto addresses = addresses_of(host);
    while (addresses.size() > 1) {
        const auto left =
            std::chrono::duration_cast<ByteStream::Timeout>(end - Clock::now());
        try {
            return connect_address(
                addresses.front(), port,
                std::max(left / static_cast<int>(addresses.size()),
                         ByteStream::Timeout(1)));
        } catch (const ConnectionError&) {
            addresses.erase(addresses.begin());
        }
    }
    const auto left =
        std::chrono::duration_cast<ByteStream::Timeout>(end - Clock::now());
    return connect_address(addresses.empty() ? host : addresses.front(), port,
                           std::max(left, ByteStream::Timeout(1)));
}

std::unique_ptr<ByteStream> connect_unix(const std::string& path,
                                         ByteStream::Timeout timeout)
{
    return std::make_unique<SocketStream>(
        redisConnectUnixWithTimeout(path.c_str(), to_timeval(timeout)));
}

}  // namespace petstore::redis
