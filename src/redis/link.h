#pragma once

#include <cstdint>

#include "command.h"
#include "reply.h"

namespace petstore::redis {

// Why a command has no reply.
enum class NoReply {
    not_sent,  // Redis has not seen it: it is down, or the queue is full
    in_doubt,  // it was written; Redis may or may not have executed it, or
               // not as durably as DurableLink promises
};

// Waits for the reply to one command. Must stay alive until one of the two
// functions is called. Exactly one is called, once, possibly before
// Link::send() returns.
class ReplyHandler {
public:
    virtual void on_reply(const Reply& reply) noexcept = 0;
    virtual void on_no_reply(NoReply cause) noexcept = 0;

    // Whether on_reply() reports this error to the operator, with more than its
    // code. If not, the link does.
    virtual bool reports(const Reply& /*error*/) const noexcept
    {
        return false;
    }

protected:
    ~ReplyHandler() = default;
};

// A pipelined way to Redis. Commands with the same routing key get their
// replies in the order they were sent. A link never resends a command that
// Redis may have executed.
class Link {
public:
    // Copies the command; borrows `handler` until it is called. Calls no other
    // handler.
    virtual void send(const Command& command,
                      ReplyHandler& handler) noexcept = 0;

    // Changes with each lost connection, and when the server reports another
    // replication history. Data read under another generation may since have
    // been undone by a failover or a restart.
    virtual std::uint64_t connection_generation() const noexcept = 0;

protected:
    ~Link() = default;
};

}  // namespace petstore::redis
