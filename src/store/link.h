#pragma once

#include "../resp/command.h"
#include "../resp/reply.h"

namespace petstore::store {

// Why a command has no reply.
enum class Loss {
    not_sent,  // Redis has not seen it: away, or the queue is full
    unknown,   // it was written; Redis may or may not have executed it
};

// Who waits for the reply to one command. A handler stays alive until one of
// the two was called, and exactly one is, once; it may be called before
// Link::send() returns.
class ReplyHandler {
public:
    virtual void on_reply(const resp::Reply& reply) noexcept = 0;
    virtual void on_loss(Loss loss) noexcept = 0;

protected:
    ~ReplyHandler() = default;
};

// An ordered, pipelined way to one Redis. Replies come in the order of the
// commands. Commands are never resent by the link itself.
class Link {
public:
    // Copies the command; `handler` is borrowed until it is called.
    virtual void send(const resp::Command& command,
                      ReplyHandler& handler) noexcept = 0;

protected:
    ~Link() = default;
};

}  // namespace petstore::store
