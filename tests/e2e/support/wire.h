#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "util.h"

struct ssl_st;

namespace petstore::e2e {

// Where a client connects to.
struct Target {
    int port = 0;      // TCP; 0: the unix socket
    std::string path;  // of that
    bool tls = false;
    bool http2 = false;

    std::string name() const;
};

// A byte stream to nginx, plain or over TLS, that can be left in every way.
// Nothing is thrown: a peer that goes away is what it is used for.
class Wire {
public:
    // nullptr when nobody listens or the handshake fails. `small`: a receive
    // buffer that a few kilobytes fill.
    static std::unique_ptr<Wire> open(const Target& target, bool small = false);
    ~Wire();
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;

    // False when the peer is gone or takes nothing any more.
    bool send(std::string_view bytes);

    enum class Got { bytes, end, nothing };
    // Appends what has come. `nothing` after the time.
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
