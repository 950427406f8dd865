#include "redis_session.h"

#include <chrono>

#include "../store/damage.h"
#include "exit.h"

namespace petstore::ctl {

namespace {

using namespace std::chrono_literals;

constexpr auto kConnectTimeout = 5s;
// A Redis that writes to a slow disk may take its time over a big import.
constexpr auto kReplyTimeout = 60s;

resp::BlockingConnection connect(const store::Endpoint& endpoint)
{
    if (endpoint.tls) {
        throw Failure("rediss:// (TLS) is not supported yet");
    }
    try {
        auto connection =
            endpoint.is_unix()
                ? resp::BlockingConnection::unix_socket(endpoint.path,
                                                        kConnectTimeout)
                : resp::BlockingConnection::tcp(endpoint.host, endpoint.port,
                                                kConnectTimeout);
        connection.set_timeout(kReplyTimeout);
        return connection;
    } catch (const resp::ConnectionError& error) {
        throw Failure("cannot connect to " + endpoint.display() + ": "
                      + error.what());
    }
}

}  // namespace

RedisSession::RedisSession(const store::Endpoint& endpoint)
    : where_(endpoint.display()), connection_(connect(endpoint))
{
    if (!endpoint.user.empty() || !endpoint.password.empty()) {
        resp::Command auth("AUTH");
        if (!endpoint.user.empty()) {
            auth.arg(endpoint.user);
        }
        call(auth.arg(endpoint.password));
    }
    if (endpoint.database) {
        call(resp::Command("SELECT").arg(endpoint.database));
    }
}

const resp::Reply& RedisSession::receive_any()
{
    try {
        return connection_.get();
    } catch (const resp::NotSent& error) {
        throw LostConnection(where_ + ": " + error.what(), false);
    } catch (const resp::ConnectionError& error) {
        throw LostConnection(where_ + ": " + error.what(), true);
    }
}

const resp::Reply& RedisSession::receive()
{
    const resp::Reply& reply = receive_any();
    check(reply);
    return reply;
}

void RedisSession::check(const resp::Reply& reply) const
{
    if (!reply.is_error()) {
        return;
    }
    if (reply.error_code() == "MOVED") {
        throw Failure(where_
                      + " is a node of a Redis Cluster, and the data "
                        "are on another one: "
                      + std::string(reply.text()));
    }
    if (const auto key = store::damaged_key(reply); !key.empty()) {
        throw Failure("the Redis key " + std::string(key)
                      + " is damaged; nothing was changed");
    }
    throw Failure(where_ + ": " + std::string(reply.text()));
}

const resp::Reply&
RedisSession::transaction(const std::vector<resp::Command>& commands)
{
    send(resp::Command("MULTI"));
    for (const resp::Command& command : commands) {
        send(command);
    }
    send(resp::Command("EXEC"));

    // A refused command makes EXEC an error too: read all before the first is
    // reported, or the rest would answer the next command.
    std::string refused;
    for (std::size_t i = 0; i <= commands.size(); ++i) {
        const resp::Reply& queued = receive_any();
        if (queued.is_error() && refused.empty()) {
            refused = queued.text();
        }
    }
    const resp::Reply& result = receive_any();
    if (!refused.empty()) {
        throw Failure(where_ + ": " + refused);
    }
    check(result);
    for (std::size_t i = 0; i < result.size(); ++i) {
        check(result[i]);
    }
    return result;
}

}  // namespace petstore::ctl
