#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "command.h"
#include "reply.h"

namespace petstore::redis {

// Why a command has no reply.
enum class NoReply {
    not_sent,  // Redis has not executed it: it is down, or the queue is full
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

    // Whether on_reply() handles this error or reports it to the operator
    // itself. If not, the link logs its code.
    virtual bool reports(const Reply& /*error*/) const noexcept
    {
        return false;
    }

protected:
    ~ReplyHandler() = default;
};

// A pipelined link to Redis, over one connection or, in a Cluster, several.
// Commands with the same routing key get their replies in the order they were
// sent. A link never resends a command that Redis may have executed.
class Link {
public:
    // Copies the command; borrows `handler` until it is called. Does not call
    // any other handler.
    virtual void send(const Command& command,
                      ReplyHandler& handler) noexcept = 0;

    // A number that changes when the server of this routing key may have lost
    // data: when its connection is lost, when it reports another replication
    // history, and when another server takes its place. So what was read under
    // another number may no longer be in Redis. The lower 32 bits change each
    // time. For an empty key, changes whenever that of any key does.
    virtual std::uint64_t
    connection_generation(std::string_view key) const noexcept = 0;

    // Changes when commands of this routing key's slot may have been executed
    // out of order, because some were redirected.
    virtual std::uint64_t reorderings(std::string_view /*key*/) const noexcept
    {
        return 0;
    }

    // Whether keys of different slots may be on different servers.
    virtual bool is_cluster() const noexcept { return false; }

    // One script call may name keys of several slots if they are in the same
    // group. Keys of different groups need separate calls.
    virtual std::size_t group_of(std::string_view /*key*/) const noexcept
    {
        return 0;
    }

    // In a Cluster, hash tags for keys that are on different primaries, one for
    // each that the link knows. Throws std::bad_alloc.
    virtual std::vector<std::string> tags_of_primaries() const { return {}; }

protected:
    ~Link() = default;
};

}  // namespace petstore::redis
