#pragma once

#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string_view>

namespace petstore::redis {

class ConnectionError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

class TimedOut : public ConnectionError {
public:
    using ConnectionError::ConnectionError;
};

// A blocking, bidirectional byte stream; not for event loops. Its functions
// throw ConnectionError, after which the stream is unusable.
class ByteStream {
public:
    using Timeout = std::chrono::milliseconds;

    virtual ~ByteStream() = default;

    // Returns how many bytes were written, at least one. If it throws, the
    // server can read none of them.
    virtual std::size_t write(std::string_view bytes) = 0;

    // Waits for bytes and returns how many there are. 0: the server closed the
    // connection.
    virtual std::size_t read(char* buffer, std::size_t size) = 0;

    // How long each later read() or write() may wait. At least 1 ms.
    virtual void set_timeout(Timeout timeout) = 0;

    // The socket, for setsockopt() only.
    virtual int descriptor() const noexcept = 0;
};

}  // namespace petstore::redis
