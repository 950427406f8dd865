#include "wire.h"

#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstring>

namespace petstore::e2e {

namespace {

// The timeout for a peer to read what we send, or to shake hands.
constexpr timeval kPatience{20, 0};

SSL_CTX* context()
{
    static SSL_CTX* const context = [] {
        SSL_CTX* const made = SSL_CTX_new(TLS_client_method());
        // Return after session tickets instead of waiting for application data.
        SSL_CTX_clear_mode(made, SSL_MODE_AUTO_RETRY);
        return made;
    }();
    return context;
}

}  // namespace

std::string Target::name() const
{
    return std::string(http2 ? "h2" : "h1") + (tls ? " tls" : "")
           + (port != 0 ? " tcp" : " unix");
}

std::unique_ptr<Wire> Wire::open(const Target& target, bool small)
{
    const int fd =
        target.port != 0 ? connect_tcp(target.port) : connect_unix(target.path);
    if (fd < 0) {
        return nullptr;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof(kPatience));
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
    if (small) {
        const int size = 2048;
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    }
    std::unique_ptr<Wire> wire(new Wire(fd));
    if (target.tls && !wire->start_tls(target.http2)) {
        return nullptr;
    }
    return wire;
}

Wire::~Wire()
{
    close();
}

bool Wire::start_tls(bool http2)
{
    tls_ = SSL_new(context());
    if (tls_ == nullptr) {
        return false;
    }
    SSL_set_fd(tls_, fd_);
    const std::string protocol =
        http2 ? std::string("\x02h2") : std::string("\x08http/1.1");
    SSL_set_alpn_protos(tls_,
                        reinterpret_cast<const unsigned char*>(protocol.data()),
                        static_cast<unsigned>(protocol.size()));
    return SSL_connect(tls_) == 1;
}

bool Wire::send(std::string_view bytes)
{
    while (fd_ >= 0 && !bytes.empty()) {
        const auto n =
            tls_ != nullptr
                ? SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()))
                : ::send(fd_, bytes.data(), bytes.size(), 0);
        if (n <= 0) {
            ended_ = std::string("while sending, ") + std::strerror(errno);
            return false;
        }
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return fd_ >= 0;
}

Wire::Got Wire::receive(std::string& to, std::chrono::milliseconds timeout)
{
    if (fd_ < 0) {
        return Got::end;
    }
    if (tls_ == nullptr || SSL_pending(tls_) == 0) {
        pollfd wait{fd_, POLLIN, 0};
        if (poll(&wait, 1, static_cast<int>(timeout.count())) <= 0) {
            return Got::nothing;
        }
    }
    char chunk[16384];
    const auto n = tls_ != nullptr ? SSL_read(tls_, chunk, sizeof(chunk))
                                   : recv(fd_, chunk, sizeof(chunk), 0);
    const auto error =
        tls_ != nullptr ? SSL_get_error(tls_, static_cast<int>(n)) : 0;
    if (error == SSL_ERROR_WANT_READ) {
        return Got::nothing;
    }
    if (n <= 0) {
        ended_ = tls_ != nullptr ? "TLS " + std::to_string(error) + ", " : "";
        ended_ += n == 0 ? "end" : std::strerror(errno);
        return Got::end;
    }
    to.append(chunk, static_cast<std::size_t>(n));
    return Got::bytes;
}

void Wire::finish_sending()
{
    if (fd_ >= 0) {
        if (tls_ != nullptr) {
            SSL_shutdown(tls_);
        }
        shutdown(fd_, SHUT_WR);
    }
}

void Wire::close()
{
    if (tls_ != nullptr) {
        SSL_free(tls_);
        tls_ = nullptr;
    }
    if (fd_ >= 0) {
        ::close(fd_);
        fd_ = -1;
    }
}

void Wire::reset()
{
    if (fd_ >= 0) {
        const linger now{1, 0};
        setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    }
    close();
}

}  // namespace petstore::e2e
