#pragma once

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "command.h"
#include "decoder.h"
#include "reply.h"

namespace petstore::redis {

class ConnectionError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// No byte of the appended commands was written.
class NotSent : public ConnectionError {
public:
    using ConnectionError::ConnectionError;
};

// A pipelined connection that blocks: not for event loops. hiredis only
// connects; reading and decoding are ours.
// All functions throw ConnectionError, after which the connection is unusable.
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

    // Buffers the command until the next get().
    void append(const Command& command) { command.append_to(output_); }

    // Sends the appended commands and waits for the next reply, which is valid
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

}  // namespace petstore::redis
