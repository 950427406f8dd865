#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
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

// A bidirectional byte stream that never waits. read() and write() throw
// ConnectionError, after which the stream is unusable.
class ByteStream {
public:
    using Timeout = std::chrono::milliseconds;

    virtual ~ByteStream() = default;

    // Returns how many bytes were taken; 0 if the socket takes none now. If it
    // throws, the server can read none of them.
    virtual std::size_t write(std::string_view bytes) = 0;

    // Returns how many bytes have arrived; nullopt if none have yet. 0: the
    // server closed the connection.
    virtual std::optional<std::size_t> read(char* buffer, std::size_t size) = 0;

    // Whether write() has taken bytes that the socket has not: call it again,
    // even with none, once the socket is writable.
    virtual bool has_output() const noexcept { return false; }

    // Whether read() may return bytes although the socket is not readable.
    virtual bool has_input() const noexcept { return false; }

    // The socket, to wait for it.
    virtual int descriptor() const noexcept = 0;
};

}  // namespace petstore::redis
