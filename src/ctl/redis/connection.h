#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "../../redis/byte_stream.h"
#include "../../redis/command.h"
#include "../../redis/decoder.h"
#include "../../redis/reply.h"

namespace petstore::ctl {

// Redis sent an error, what(), and closed the connection, such as "ERR max
// number of clients reached". It has received nothing.
class Refused : public redis::ConnectionError {
public:
    using ConnectionError::ConnectionError;
};

// Waits until the stream's socket is ready for one of the events. Throws
// redis::TimedOut.
void wait_for(const redis::ByteStream& stream, short events,
              std::chrono::steady_clock::time_point until);

// Redis's protocol over a stream. All functions throw redis::ConnectionError,
// after which the connection is unusable.
class Connection {
public:
    using Timeout = redis::ByteStream::Timeout;

    explicit Connection(std::unique_ptr<redis::ByteStream> stream);

    // Sends the command and waits for its reply, which is valid until the next
    // call. No other reply may be due.
    const redis::Reply& ask(const redis::Command& command, Timeout timeout);

    // Returns how many of the bytes were sent. `first`: nothing was sent before
    // to which a reply is due.
    std::size_t write(std::string_view bytes, bool first);

    // Reads once, without waiting.
    void read();

    // The next reply that was read, valid until the next call; nullptr if there
    // is none.
    const redis::Reply* next();

    const redis::ByteStream& stream() const noexcept { return *stream_; }

private:
    std::string last_words();

    std::unique_ptr<redis::ByteStream> stream_;
    std::unique_ptr<redis::Decoder> decoder_;
    std::string input_;
};

}  // namespace petstore::ctl
