#pragma once

#include <cstdint>
#include <optional>

#include "../metrics/redis_counters.h"
#include "../redis/breaker.h"
#include "../redis/command.h"
#include "../redis/link.h"
#include "../redis/replication.h"
#include "../redis/server_id.h"
#include "address_source.h"
#include "connection.h"
#include "node_log.h"
#include "node_settings.h"

namespace petstore::ngx_redis {

// Whether the server that a node is connected to can be used, according to its
// replies. It must be a primary, and the server that is meant: another one may
// have taken over its address. That is known in a Cluster and behind Sentinels;
// elsewhere only the address matters.
class ServerCheck {
public:
    using Failure = Connection::Failure;

    // All must outlive this object.
    ServerCheck(const NodeSettings& settings, const AddressSource& source,
                redis::Breaker& breaker, const metrics::RedisMeter& meter,
                NodeLog& log);

    // See Link::connection_generation().
    std::uint64_t generation() const noexcept { return generation_; }
    void connection_lost() noexcept { ++generation_; }

    // The command that asks the server who it is; nullptr if there is none.
    const redis::Command* identity_request() const noexcept
    {
        return request_ ? &*request_ : nullptr;
    }

    // The reply to it, possibly an error: the server is then unknown.
    Failure take_identity(const redis::Reply& reply) noexcept;

    // Whether it is known that another server is meant, as of now.
    bool is_other() const noexcept;

    // Decides when to ask for the role.
    redis::RoleWatch& role() noexcept { return role_; }

    // The role in the handshake's reply, and in that to a later request.
    Failure take_first_role(const redis::Reply& reply) noexcept;
    Failure take_role(const redis::Reply& reply) noexcept;

    // Counts and logs an error reply to a command, unless its handler does.
    Failure take_error(const redis::Reply& error,
                       const redis::ReplyHandler& handler) noexcept;

    // The connection has lasted for IdleCheck::kInterval or longer. May be
    // called repeatedly.
    void connection_lasted() noexcept;

private:
    Failure judge(redis::RoleWatch::Finding finding, const redis::Reply& reply,
                  redis::Breaker::Retry retry) noexcept;

    const NodeSettings& settings_;
    const AddressSource& source_;
    redis::Breaker& breaker_;
    const metrics::RedisMeter& meter_;
    NodeLog& log_;
    std::optional<redis::Command> request_;
    redis::ServerId id_;
    redis::RoleWatch role_;
    std::uint64_t generation_ = 0;
};

}  // namespace petstore::ngx_redis
