#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "reply.h"

namespace petstore::redis {

// Limits on replies. A server that exceeds them is treated as broken or
// hostile.
struct ReplyLimits {
    std::size_t depth = 4;
    // Of one array. Bounds the memory for elements that were announced and did
    // not arrive; `bytes` bounds that for the others. HSCAN and SSCAN return a
    // listpack whole, whatever COUNT says.
    std::size_t elements = 65536;
    std::size_t bytes = 4 * 1024 * 1024;  // of one complete reply, encoded
};

// Splits a byte stream into replies. hiredis's reader parses; the replies are
// built in an arena that is reused for the next one. After an error the decoder
// stays broken, because the stream cannot be resynchronized.
class Decoder {
public:
    explicit Decoder(ReplyLimits limits = {});
    ~Decoder();
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;

    enum class State { reply, incomplete, broken };

    // Takes bytes from the socket. Returns false if broken. Call next() until
    // it returns incomplete before feeding more: the limit on bytes is checked
    // there.
    bool feed(std::string_view bytes);

    // The next complete reply. `reply` points into this decoder and is valid
    // until the next call of next() or feed().
    State next(const Reply*& reply);

    // Why it is broken, for the log. Contains no bytes of the stream.
    const std::string& problem() const noexcept;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace petstore::redis
