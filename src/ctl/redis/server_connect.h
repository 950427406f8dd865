#pragma once

#include <chrono>
#include <string>

#include "../../redis/blocking_connection.h"
#include "../../redis/endpoint.h"
#include "../../redis/reply.h"
#include "../exit.h"
#include "tls.h"

namespace petstore::ctl {

struct OpenConnection {
    std::string where;  // the server's URL, for messages
    redis::BlockingConnection connection;
    bool is_cluster_node = false;
};

// The server does not serve requests now; it or another may do so after a
// failover. Nothing but the login was sent.
class NotServing : public Unreachable {
public:
    using Unreachable::Unreachable;
};

// For connecting and logging in together.
constexpr redis::ByteStream::Timeout kLoginTimeout = std::chrono::seconds(5);
// For each reply of a server that is only queried for the addresses of others.
constexpr redis::ByteStream::Timeout kFinderTimeout = std::chrono::seconds(1);
// Long enough for a Redis that writes a large import to a slow disk.
constexpr redis::ByteStream::Timeout kReplyTimeout = std::chrono::seconds(60);

// Sends the command and returns its reply. Throws redis::ConnectionError.
const redis::Reply& call(redis::BlockingConnection& connection,
                         const redis::Command& command);

std::string cannot_connect(const std::string& where, const char* reason);

// Connects and logs in within twice the `timeout` that then applies to each
// reply.
// `tls`: for a rediss:// URL; must outlive the connection. Throws
// redis::ConnectionError, and Failure if Redis refuses the login.
redis::BlockingConnection log_in(const redis::Endpoint& endpoint,
                                 const Tls* tls,
                                 redis::ByteStream::Timeout timeout,
                                 const std::string& where);

// Connects to a server, logs in and selects the database, within kLoginTimeout.
// Throws NotServing, or Failure for problems that do not resolve themselves.
OpenConnection connect_server(const redis::Endpoint& endpoint, const Tls* tls);

}  // namespace petstore::ctl
