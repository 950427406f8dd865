#pragma once

#include <string>
#include <string_view>

#include "http.h"
#include "util.h"

namespace petstore::e2e {

// A bare socket, for bytes that no proper client would send.
class RawClient {
public:
    explicit RawClient(int port);
    ~RawClient();
    RawClient(RawClient&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    RawClient& operator=(RawClient&&) = delete;

    void send(std::string_view bytes);
    // Each byte in its own TCP segment.
    void send_bytewise(std::string_view bytes);
    void finish_sending();  // half-close
    void close();
    void reset();  // closes with a TCP reset

    // Reads the next response. `head`: it has no body, as for HEAD. Throws
    // HarnessError if none comes or the connection ends before its end.
    Response read(bool head = false);

    // Whether the server closes the connection without sending more.
    bool closes(std::chrono::milliseconds timeout = 60s);
    // Everything that the server sends until it closes.
    std::string read_all(std::chrono::milliseconds timeout = 60s);
    // The next `size` bytes, for an upgraded connection.
    std::string take(std::size_t size);
    // Whether bytes, or the end, arrive in time.
    bool readable(std::chrono::milliseconds timeout);

private:
    bool receive(std::chrono::milliseconds timeout);
    std::string take_line();

    int fd_;
    std::string buffer_;
};

}  // namespace petstore::e2e
