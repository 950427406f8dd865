#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "command.h"
#include "endpoint.h"
#include "reply.h"

namespace petstore::redis {

// The commands of a handshake that depend on its purpose. Borrowed.
struct HandshakeCommands {
    // The last one with a reply, such as INFO for the role.
    const Command* last = nullptr;

    // Which server this is; before `last`. nullptr if that does not matter.
    const Command* identity = nullptr;

    // SUBSCRIBE, in the same write as `last`, so that nothing can happen
    // between the two. What it leads to is not part of the handshake.
    const Command* subscription = nullptr;
};

// The commands that open a connection: AUTH and SELECT if needed, PING, and
// those whose replies the caller evaluates. All replies must arrive before any
// other command is written, so that none runs as the wrong user, in the wrong
// database or on a replica.
class Handshake {
public:
    // Throws std::bad_alloc.
    void begin(const Endpoint& endpoint, const HandshakeCommands& commands);

    std::string_view unsent() const noexcept
    {
        return std::string_view(bytes_).substr(sent_);
    }
    // The first `bytes` bytes of unsent() were written.
    void sent(std::size_t bytes) noexcept { sent_ += bytes; }

    enum class Step {
        accepted,    // more replies follow
        refused,     // the reply is the reason
        identity,    // this is the reply to `identity`, possibly an error
        last,        // this is the last reply
        unexpected,  // the command was not sent yet
    };
    Step take(const Reply& reply) noexcept;

private:
    std::string bytes_;
    std::size_t sent_ = 0;
    std::size_t replies_ = 0;  // still due
    bool asks_identity_ = false;
};

}  // namespace petstore::redis
