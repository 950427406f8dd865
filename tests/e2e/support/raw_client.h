#pragma once

#include <string>
#include <string_view>

#include "http.h"
#include "util.h"

namespace petstore::e2e {

// A socket and nothing around it, for what a proper client would never send.
class RawClient {
public:
    explicit RawClient(int port);
    ~RawClient();
    RawClient(RawClient&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
    RawClient& operator=(RawClient&&) = delete;

    void send(std::string_view bytes);
    // Every byte in a segment of its own.
    void send_bytewise(std::string_view bytes);
    void finish_sending();  // half-close
    void close();
    void reset();  // closes with a TCP reset

    // The next response on the connection. `head`: none of them has a body.
    // Throws HarnessError when none comes or the connection ends in it.
    Response read(bool head = false);

    // Nothing more is in the stream and the server closes it.
    bool closes(std::chrono::milliseconds timeout = 60s);
    // Whatever comes until the server closes.
    std::string read_all(std::chrono::milliseconds timeout = 60s);
    // So many bytes of whatever comes, of an upgraded connection.
    std::string take(std::size_t size);
    // True when bytes or the end are there to read within the time.
    bool readable(std::chrono::milliseconds timeout);

private:
    bool receive(std::chrono::milliseconds timeout);
    std::string take_line();

    int fd_;
    std::string buffer_;
};

}  // namespace petstore::e2e
