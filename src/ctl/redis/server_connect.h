#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "../../redis/endpoint.h"
#include "../exit.h"
#include "connection.h"
#include "pump.h"
#include "tls.h"

namespace petstore::ctl {

// Used for a URL without user and password, and for servers behind Sentinels.
struct Credentials {
    std::string user;
    std::string password;

    // Fills in what the endpoint lacks.
    void complete(redis::Endpoint& endpoint) const;
};

struct OpenConnection {
    ServerName name;
    Connection connection;
    bool is_cluster_node = false;

    // Returns another connection to the same data, or throws
    // redis::ConnectionError. Empty: this one needs no replacement.
    std::function<Connection()> reopen;
};

// The server does not serve requests now; it or another may do so after a
// failover. Nothing but the login was sent.
class NotServing : public Unreachable {
public:
    using Unreachable::Unreachable;
};

// Whether the connection was lost, or the server is NotServing.
bool is_away(const Failure& failure) noexcept;

// For connecting and logging in together.
constexpr redis::ByteStream::Timeout kLoginTimeout = std::chrono::seconds(5);
// For each reply of a server that is only queried for the addresses of others.
constexpr redis::ByteStream::Timeout kFinderTimeout = std::chrono::seconds(1);
// Long enough for a Redis that writes a large import to a slow disk.
constexpr redis::ByteStream::Timeout kReplyTimeout = std::chrono::seconds(60);

std::string cannot_connect(const std::string& where, const char* reason);

// Connects to such a server and logs in, which together may take twice
// kFinderTimeout. `tls`: for a rediss:// URL; must outlive the connection.
// Throws redis::ConnectionError, and Failure if Redis refuses the login.
Connection log_in(const redis::Endpoint& endpoint, const Tls* tls,
                  const std::string& where);

// Connects to a server, logs in and selects the database, within kLoginTimeout.
// Throws NotServing, or Failure for problems that do not resolve themselves.
OpenConnection connect_server(const redis::Endpoint& endpoint, const Tls* tls);

}  // namespace petstore::ctl
