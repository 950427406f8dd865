#pragma once

#include <cstdint>

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

// Something that has commands to send, but only when the turn of the event loop
// ends, so that one command can speak for all that came up in the turn.
class Deferred {
public:
    // Called once for each Link::defer(), right before the turn's commands are
    // written; may send.
    virtual void emit() noexcept = 0;

    // The link's, while it waits there: to wait must not need memory.
    Deferred* next_deferred = nullptr;

protected:
    ~Deferred() = default;
};

// A link that writes the commands of a turn together at its end.
class TurnLink : public Link {
public:
    // `deferred` is borrowed until it was called, and does not wait already.
    virtual void defer(Deferred& deferred) noexcept = 0;

    // Another number after each loss of the connection, and once the server has
    // another replication history: what was read before may have been undone
    // since, by a failover or a restart.
    virtual std::uint64_t session() const noexcept = 0;

protected:
    ~TurnLink() = default;
};

}  // namespace petstore::store
