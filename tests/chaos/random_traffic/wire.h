#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "e2e/support/util.h"

struct ssl_st;

namespace petstore::e2e {

// The address that a client connects to.
struct Target {
    int port = 0;      // TCP; 0: the unix socket
    std::string path;  // of the unix socket
    bool tls = false;
    bool http2 = false;

    std::string name() const;
};

// A byte stream to nginx, plain or over TLS, that can be ended in every way.
// Throws nothing, because its users expect peers to disappear.
class Wire {
public:
    // Returns nullptr if nothing listens or the handshake fails. `small`: with
    // a receive buffer of a few kilobytes.
    static std::unique_ptr<Wire> open(const Target& target, bool small = false);
    ~Wire();
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    // Returns false if the peer is gone or accepts no more.
    bool send(std::string_view bytes);

    enum class Got { bytes, end, nothing };
    // Appends received bytes. Returns `nothing` after the timeout.
    Got receive(std::string& to, std::chrono::milliseconds timeout);

    // Why nothing can be sent or received any more.
    const std::string& ended() const noexcept { return ended_; }

    void finish_sending();  // half-close
    void close();
    void reset();  // closes with a TCP reset; a unix socket is just closed

private:
    explicit Wire(int fd) : fd_(fd) {}
    bool start_tls(bool http2);

    int fd_;
    ssl_st* tls_ = nullptr;
    std::string ended_;
};

}  // namespace petstore::e2e
