#include "redis_session.h"

#include <utility>

#include "../../redis/error_table.h"
#include "../../store/damage.h"
#include "../exit.h"
#include "redis_error.h"

namespace petstore::ctl {

void RedisSession::throw_cluster_node() const
{
    throw Failure(
        where()
            + " is a node of a Redis Cluster: put \"cluster\" before its URL",
        Failure::Kind::redis_unavailable);
}

void RedisSession::refuse_cluster_node() const
{
    if (is_cluster_node()) {
        throw_cluster_node();
    }
}

const redis::Reply& RedisSession::receive()
{
    const redis::Reply& reply = receive_any();
    check(reply);
    return reply;
}

void RedisSession::check(const redis::Reply& reply) const
{
    if (!reply.is_error()) {
        return;
    }
    if (reply.error_code() == "MOVED" && !is_cluster()) {
        throw_cluster_node();
    }
    if (const auto key = store::damaged_key(reply); !key.empty()) {
        throw Failure("the Redis key " + std::string(key)
                      + " is damaged; nothing was changed");
    }
    throw RedisError(where(), reply.text());
}

// For a script, the message names its first key, which is the one it writes.
void RedisSession::check(const redis::Reply& reply,
                         const redis::Command& command) const
{
    if (redis::is_wrong_type(reply) && !command.routing_key().empty()) {
        throw Failure("the Redis key " + std::string(command.routing_key())
                      + " is damaged: it holds another type; repair it first");
    }
    check(reply);
}

const redis::Reply& RedisSession::run(redis::Command command)
{
    send(command);
    const redis::Reply* reply = &receive_any();
    if (command.fall_back_to_text(*reply)) {
        send(command);
        reply = &receive_any();
    }
    check(*reply, command);
    return *reply;
}

}  // namespace petstore::ctl
