#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "byte_stream.h"
#include "command.h"
#include "decoder.h"
#include "reply.h"
#include "socket_stream.h"

namespace petstore::redis {

// No byte of the appended commands was written.
class NotSent : public ConnectionError {
public:
    using ConnectionError::ConnectionError;
};

// Redis sent an error, what(), and closed the connection, such as "ERR max
// number of clients reached". No byte of the appended commands was written.
class Refused : public NotSent {
public:
    using NotSent::NotSent;
};

// Redis's protocol, pipelined, over a stream that blocks: not for event loops.
// All functions throw ConnectionError, after which the connection is unusable.
class BlockingConnection {
public:
    using Timeout = ByteStream::Timeout;

    explicit BlockingConnection(std::unique_ptr<ByteStream> stream);

    static BlockingConnection unix_socket(const std::string& path,
                                          Timeout timeout)
    {
        return BlockingConnection(connect_unix(path, timeout));
    }

    BlockingConnection(BlockingConnection&&) noexcept = default;

    // A gateway may forget a connection while it is idle. So if no reply is due
    // and nothing was written for kTrusted, a PING precedes the next command.
    // If it gets no reply, `reopen` returns another connection to the same
    // data, or throws ConnectionError.
    using Reopen = std::function<BlockingConnection()>;
    void reopen_with(Reopen reopen) { reopen_ = std::move(reopen); }
    static constexpr std::chrono::seconds kTrusted{2};

    // How long get() may wait, both for each read and for a whole reply.
    void set_timeout(Timeout timeout)
    {
        timeout_ = timeout;
        stream_->set_timeout(timeout);
    }

    // The socket, for setsockopt() only.
    int descriptor() const noexcept { return stream_->descriptor(); }

    // Buffers the command until the next get().
    void append(const Command& command)
    {
        command.append_to(output_);
        ++appended_;
    }

    // Sends the appended commands.
    void flush();

    // Sends the appended commands and waits for the next reply, which is valid
    // until the next call.
    const Reply& get();

private:
    using Clock = std::chrono::steady_clock;

    void prove();
    void replace();
    std::string last_words() noexcept;

    std::unique_ptr<ByteStream> stream_;
    Timeout timeout_{0};  // 0: none
    std::unique_ptr<Decoder> decoder_;
    std::string output_;
    std::size_t appended_ = 0;  // commands in output_
    std::size_t due_ = 0;       // replies
    Clock::time_point wrote_at_ = Clock::now();
    Reopen reopen_;
    std::string input_;
};

}  // namespace petstore::redis
