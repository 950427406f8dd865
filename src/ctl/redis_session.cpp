#include "redis_session.h"

#include "../redis/error_table.h"
#include "../store/damage.h"
#include "exit.h"

namespace petstore::ctl {

const redis::Reply& RedisSession::receive_any()
{
    try {
        return connection_.get();
    } catch (const redis::NotSent& error) {
        throw LostConnection(where_ + ": " + error.what(), false);
    } catch (const redis::ConnectionError& error) {
        throw LostConnection(where_ + ": " + error.what(), true);
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
    if (reply.error_code() == "MOVED") {
        throw Failure(where_
                      + " is a node of a Redis Cluster, and the data "
                        "are on another one: "
                      + error_text(reply));
    }
    if (const auto key = store::damaged_key(reply); !key.empty()) {
        throw Failure("the Redis key " + std::string(key)
                      + " is damaged; nothing was changed");
    }
    throw Failure(where_ + ": " + error_text(reply));
}

// For a script, reports its first key, which is the one it writes.
void RedisSession::check(const redis::Reply& reply,
                         const redis::Command& command) const
{
    if (redis::is_wrong_type(reply) && !command.routing_key().empty()) {
        throw Failure("the Redis key " + std::string(command.routing_key())
                      + " is damaged: it holds another type; repair it first");
    }
    check(reply);
}

const redis::Reply& RedisSession::run_script(redis::Command command)
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

const redis::Reply&
RedisSession::transaction(const std::vector<redis::Command>& commands)
{
    send(redis::Command("MULTI"));
    for (const redis::Command& command : commands) {
        send(command);
    }
    send(redis::Command("EXEC"));

    // A refused command makes EXEC fail too. Read all replies before throwing,
    // or the rest would be mistaken for replies to the next command.
    std::string refused;
    for (std::size_t i = 0; i <= commands.size(); ++i) {
        const redis::Reply& queued = receive_any();
        if (queued.is_error() && refused.empty()) {
            refused = error_text(queued);
        }
    }
    const redis::Reply& result = receive_any();
    if (!refused.empty()) {
        throw Failure(where_ + ": " + refused);
    }
    check(result);
    for (std::size_t i = 0; i < result.size() && i < commands.size(); ++i) {
        check(result[i], commands[i]);
    }
    return result;
}

}  // namespace petstore::ctl
