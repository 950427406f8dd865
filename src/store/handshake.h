#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "../resp/reply.h"
#include "endpoint.h"

namespace petstore::store {

// What opens a connection: AUTH, SELECT, PING and INFO, as far as they are
// needed. All replies come before the first command goes out: it must not run
// as the wrong user, in the wrong database or on a replica.
class Handshake {
public:
    // Throws std::bad_alloc.
    void begin(const Endpoint& endpoint);

    std::string_view unsent() const noexcept
    {
        return std::string_view(bytes_).substr(sent_);
    }
    // That many bytes of unsent() were written.
    void sent(std::size_t bytes) noexcept { sent_ += bytes; }

    enum class Step {
        accepted,    // more replies follow
        refused,     // the reply is the reason
        role,        // the reply is that to INFO, the last one
        unexpected,  // the reply answers what was not sent yet
    };
    Step take(const resp::Reply& reply) noexcept;

private:
    std::string bytes_;
    std::size_t sent_ = 0;
    std::size_t replies_ = 0;  // still to come
};

}  // namespace petstore::store
