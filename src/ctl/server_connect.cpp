#include "server_connect.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "../redis/replication.h"
#include "error_text.h"
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

// A server without AUTH echoes the arguments of the unknown command, which are
// the user and password. Redis's own errors do not.
std::string login_error(const redis::Reply& error)
{
    constexpr std::string_view kNoPassword = "ERR AUTH ";
    const bool known =
        error.error_code() != "ERR"
        || error.text().substr(0, kNoPassword.size()) == kNoPassword;
    return known ? error_text(error) : "it does not know AUTH";
}

void authenticate(redis::BlockingConnection& connection,
                  const redis::Endpoint& endpoint, const std::string& where)
{
    if (endpoint.user.empty() && endpoint.password.empty()) {
        return;
    }
    redis::Command auth("AUTH");
    if (!endpoint.user.empty()) {
        auth.arg(endpoint.user);
    }
    const redis::Reply& reply = call(connection, auth.arg(endpoint.password));
    if (reply.is_error()) {
        throw Failure(where + ": " + login_error(reply));
    }
}

// `ping`: waits for a reply first, so that a hung server is detected before a
// change is in doubt.
redis::BlockingConnection log_in(const redis::Endpoint& endpoint,
                                 const Tls* tls, const Deadline& deadline,
                                 const std::string& where, bool ping)
{
    redis::BlockingConnection connection(open(endpoint, tls, deadline));
    connection.set_timeout(deadline.left());
    // With TLS 1.3, the server may refuse the client certificate after the
    // handshake.
    if (ping || endpoint.tls) {
        call(connection, redis::Command("PING"));
        connection.set_timeout(deadline.left());
    }
    authenticate(connection, endpoint, where);
    return connection;
}

// Connects, logs in and selects the database. Throws redis::ConnectionError and
// Failure.
redis::BlockingConnection open_database(const redis::Endpoint& endpoint,
                                        const Tls* tls,
                                        const std::string& where)
{
    const Deadline deadline(kLoginTimeout);
    auto connection = log_in(endpoint, tls, deadline, where, true);
    if (endpoint.database) {
        connection.set_timeout(deadline.left());
        redis::Command select("SELECT");
        const redis::Reply& reply =
            call(connection, select.arg(endpoint.database));
        if (reply.is_error()) {
            throw Failure(where + ": " + error_text(reply));
        }
    }
    connection.set_timeout(deadline.left());
    return connection;
}

// Identifies the data of a primary; empty if Redis does not say.
std::string history_of(redis::BlockingConnection& connection)
{
    const auto replication =
        redis::parse_replication(call(connection, redis::info_replication()));
    return std::string(replication.id);
}

// Connects again after a pause, unless data may have been lost meanwhile: a
// command that has started must not leave a gap.
redis::BlockingConnection reopen(const redis::Endpoint& endpoint,
                                 const Tls* tls, const std::string& where,
                                 const std::string& history)
{
    if (history.empty()) {
        throw redis::ConnectionError(
            "the connection was lost during a pause, and without INFO it is "
            "unknown whether Redis was restarted meanwhile");
    }
    try {
        auto connection = open_database(endpoint, tls, where);
        if (history_of(connection) != history) {
            throw redis::ConnectionError(
                "Redis was restarted or replaced meanwhile");
        }
        connection.set_timeout(kReplyTimeout);
        return connection;
    } catch (const Failure& failure) {
        throw redis::ConnectionError(failure.what());
    }
}

}  // namespace

const redis::Reply& call(redis::BlockingConnection& connection,
                         const redis::Command& command)
{
    connection.append(command);
    return connection.get();
}

std::string cannot_connect(const std::string& where, const char* reason)
{
    return "cannot connect to " + where + ": " + reason;
}

redis::BlockingConnection log_in(const redis::Endpoint& endpoint,
                                 const Tls* tls, Timeout timeout,
                                 const std::string& where)
{
    auto connection =
        log_in(endpoint, tls, Deadline(2 * timeout), where, false);
    connection.set_timeout(timeout);
    return connection;
}

OpenConnection connect_server(const redis::Endpoint& endpoint, const Tls* tls)
{
    const std::string where = endpoint.display();
    try {
        auto connection = open_database(endpoint, tls, where);
        if (!endpoint.is_unix()) {
            connection.reopen_with(
                [endpoint, tls, where, history = history_of(connection)] {
                    return reopen(endpoint, tls, where, history);
                });
        }
        connection.set_timeout(kReplyTimeout);
        return {where, std::move(connection)};
    } catch (const TlsError& error) {
        throw Failure(cannot_connect(where, error.what()));
    } catch (const redis::ConnectionError& error) {
        throw NotServing(cannot_connect(where, error.what()));
    }
}

}  // namespace petstore::ctl
