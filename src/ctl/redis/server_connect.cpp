#include "server_connect.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "../../redis/replication.h"
#include "../../redis/socket_stream.h"
#include "redis_error.h"
#include "tls_stream.h"

namespace petstore::ctl {

namespace {

using Clock = std::chrono::steady_clock;
using Timeout = redis::ByteStream::Timeout;

// The time left of a timeout that covers several steps.
class Deadline {
public:
    explicit Deadline(Timeout timeout) : end_(Clock::now() + timeout) {}

    // Throws redis::TimedOut if there is none.
    Timeout left() const
    {
        const auto left =
            std::chrono::duration_cast<Timeout>(end_ - Clock::now());
        if (left.count() <= 0) {
            throw redis::TimedOut("no answer in time");
        }
        return left;
    }

private:
    Clock::time_point end_;
};

std::unique_ptr<redis::ByteStream>
open(const redis::Endpoint& endpoint, const Tls* tls, const Deadline& deadline)
{
    if (endpoint.is_unix()) {
        return redis::connect_unix(endpoint.path, deadline.left());
    }
    auto socket =
        redis::connect_tcp(endpoint.host, endpoint.port, deadline.left());
    return endpoint.tls
               ? tls->start(std::move(socket), endpoint.host, deadline.left())
               : std::move(socket);
}

bool is_at_max_clients(std::string_view error)
{
    return error.starts_with("ERR max number of clients");
}

// A server without AUTH echoes the arguments of the unknown command, which are
// the user and password. Redis's own errors do not.
void check_login(const redis::Reply& reply, const std::string& where)
{
    if (!reply.is_error()) {
        return;
    }
    if (reply.error_code() != "ERR" || reply.text().starts_with("ERR AUTH ")
        || is_at_max_clients(reply.text())) {
        throw RedisError(where, reply.text());
    }
    throw Unreachable(where + ": it does not know AUTH");
}

// Whether Redis refuses the connection itself. Other errors may be gone after
// the login.
bool closes_connection(const redis::Reply& reply)
{
    return reply.is_error()
           && (reply.error_code() == "DENIED"
               || is_at_max_clients(reply.text()));
}

void authenticate(Connection& connection, const redis::Endpoint& endpoint,
                  const std::string& where, Timeout timeout)
{
    redis::Command auth("AUTH");
    if (!endpoint.user.empty()) {
        auth.arg(endpoint.user);
    }
    const redis::Reply& reply =
        connection.ask(auth.arg(endpoint.password), timeout);
    check_login(reply, where);
}

// Whether the server is a node of a Cluster; nullopt if it does not say, as
// before the login. HELLO is the one command that access rules cannot forbid.
std::optional<bool> ask_cluster_node(Connection& connection,
                                     const std::string& where, Timeout timeout)
{
    const redis::Command hello("HELLO");
    const redis::Reply& reply = connection.ask(hello, timeout);
    if (closes_connection(reply)) {
        throw RedisError(where, reply.text());
    }
    for (std::size_t i = 0; !reply.is_error() && i + 1 < reply.size(); i += 2) {
        if (reply[i].text() == "mode") {
            return reply[i + 1].text() == "cluster";
        }
    }
    return std::nullopt;
}

// `ask`: waits for a reply first, so that a hung server is detected before a
// change is in doubt.
OpenConnection log_in(const redis::Endpoint& endpoint, const Tls* tls,
                      const Deadline& deadline, const std::string& where,
                      bool ask)
{
    Connection connection(open(endpoint, tls, deadline));
    std::optional<bool> is_node;
    // With TLS 1.3, the server may refuse the client certificate after the
    // handshake.
    if (ask || endpoint.tls) {
        is_node = ask_cluster_node(connection, where, deadline.left());
    }
    if (!endpoint.user.empty() || !endpoint.password.empty()) {
        authenticate(connection, endpoint, where, deadline.left());
        if (ask && !is_node) {
            is_node = ask_cluster_node(connection, where, deadline.left());
        }
    }
    return {{where, endpoint.host},
            std::move(connection),
            is_node.value_or(false),
            {}};
}

// Connects, logs in and selects the database. Throws redis::ConnectionError and
// Failure.
OpenConnection open_database(const redis::Endpoint& endpoint, const Tls* tls,
                             const std::string& where, const Deadline& deadline)
{
    auto opened = log_in(endpoint, tls, deadline, where, true);
    if (endpoint.database) {
        redis::Command select("SELECT");
        const redis::Reply& reply = opened.connection.ask(
            select.arg(endpoint.database), deadline.left());
        if (reply.is_error()) {
            throw RedisError(where, reply.text());
        }
    }
    return opened;
}

// Identifies the data of a primary; empty if Redis does not say.
std::string history_of(Connection& connection, const Deadline& deadline)
{
    const auto replication = redis::parse_replication(
        connection.ask(redis::info_replication(), deadline.left()));
    return std::string(replication.id);
}

// Connects again after a pause, unless data may have been lost meanwhile: a
// command that has started must not leave a gap.
Connection reopen(const redis::Endpoint& endpoint, const Tls* tls,
                  const std::string& where, const std::string& history)
{
    if (history.empty()) {
        throw redis::ConnectionError(
            "the connection was lost during a pause, and without INFO it is unknown whether Redis was restarted meanwhile");
    }
    try {
        const Deadline deadline(kLoginTimeout);
        auto connection =
            open_database(endpoint, tls, where, deadline).connection;
        if (history_of(connection, deadline) != history) {
            throw redis::ConnectionError(
                "Redis was restarted or replaced meanwhile");
        }
        return connection;
    } catch (const Failure& failure) {
        throw redis::ConnectionError(failure.what());
    }
}

}  // namespace

void Credentials::complete(redis::Endpoint& endpoint) const
{
    endpoint.complete(user, password);
}

bool is_away(const Failure& failure) noexcept
{
    return dynamic_cast<const LostConnection*>(&failure) != nullptr
           || dynamic_cast<const NotServing*>(&failure) != nullptr;
}

std::string cannot_connect(const std::string& where, const char* reason)
{
    return "cannot connect to " + where + ": " + reason;
}

Connection log_in(const redis::Endpoint& endpoint, const Tls* tls,
                  const std::string& where)
{
    return log_in(endpoint, tls, Deadline(2 * kFinderTimeout), where, false)
        .connection;
}

OpenConnection connect_server(const redis::Endpoint& endpoint, const Tls* tls)
{
    const std::string where = endpoint.display();
    try {
        const Deadline deadline(kLoginTimeout);
        auto opened = open_database(endpoint, tls, where, deadline);
        opened.reopen = [endpoint, tls, where,
                         history = history_of(opened.connection, deadline)] {
            return reopen(endpoint, tls, where, history);
        };
        return opened;
    } catch (const TlsError& error) {
        throw Unreachable(cannot_connect(where, error.what()));
    } catch (const Refused& refusal) {
        throw RedisError(where, refusal.what());
    } catch (const redis::ConnectionError& error) {
        throw NotServing(cannot_connect(where, error.what()));
    }
}

}  // namespace petstore::ctl
