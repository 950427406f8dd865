#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "command.h"
#include "decoder.h"
#include "reply.h"

namespace petstore::resp {

class ConnectionError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Thrown while nothing of what was appended had been written yet.
class NotSent : public ConnectionError {
public:
    using ConnectionError::ConnectionError;
};

// A pipelined connection for programs that can wait: petstorectl, not nginx,
// whose workers have src/ngx/redis_link. hiredis makes the connection, reading
// and decoding are ours. Everything throws ConnectionError, after which the
// connection is of no more use.
class BlockingConnection {
public:
    using Timeout = std::chrono::milliseconds;

    static BlockingConnection tcp(const std::string& host, int port,
                                  Timeout timeout);
    static BlockingConnection unix_socket(const std::string& path,
                                          Timeout timeout);

    BlockingConnection(BlockingConnection&&) noexcept;
    ~BlockingConnection();

    // How long get() waits for bytes.
    void set_timeout(Timeout timeout);

    // The socket, for setsockopt() only.
    int descriptor() const noexcept;

    // Keeps the command until the next get().
    void append(const Command& command) { command.append_to(output_); }

    // Sends what was appended and waits for the next reply, which is valid
    // until the next call.
    const Reply& get();

private:
    struct Context;
    explicit BlockingConnection(std::unique_ptr<Context> context);

    void flush();

    std::unique_ptr<Context> context_;
    std::unique_ptr<Decoder> decoder_;
    std::string output_;
    std::string input_;
};

}  // namespace petstore::resp
