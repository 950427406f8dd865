#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "reply.h"

namespace petstore::resp {

// What a server may send us at most; more is treated as a broken or hostile
// server.
struct ReplyLimits {
    std::size_t depth = 4;
    std::size_t elements = 4096;          // of one array
    std::size_t bytes = 4 * 1024 * 1024;  // of one whole reply, as received
};

// Cuts a stream of bytes into replies. hiredis's reader does the parsing; the
// replies it builds are ours, in memory that is used again for the next one.
// After an error the decoder stays broken: the stream has no place to resume.
class Decoder {
public:
    explicit Decoder(ReplyLimits limits = {});
    ~Decoder();
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;

    enum class State { reply, incomplete, broken };

    // Takes bytes as they came from the socket. Returns false when broken. Call
    // next() until it says incomplete before feeding more: that is where the
    // limit on bytes is watched.
    bool feed(std::string_view bytes);

    // The next whole reply. `reply` points to memory of this decoder that
    // stays as it is until the next call of next() or feed().
    State next(const Reply*& reply);

    // Why it is broken, for the log; holds no bytes of the stream.
    const std::string& problem() const noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace petstore::resp
