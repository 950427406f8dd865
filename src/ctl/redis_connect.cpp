#include "redis_connect.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "../redis/replication.h"
#include "../redis/sentinel.h"
#include "exit.h"
#include "tls_stream.h"

namespace petstore::ctl {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Timeout = redis::ByteStream::Timeout;

constexpr Timeout kConnectTimeout = 5s;
// Long enough for a Redis that writes a big import to a slow disk.
constexpr Timeout kReplyTimeout = 60s;

// For each step with a Sentinel, which has nothing else to do.
constexpr Timeout kSentinelTimeout = 1s;
// How long to wait for the end of a failover, and between two rounds through
// all Sentinels.
constexpr Timeout kFailoverTime = 15s;
constexpr Timeout kPause = 500ms;

// The server does not serve now; after a failover, it or another may.
class NotServing : public Failure {
public:
    using Failure::Failure;
};

std::unique_ptr<redis::ByteStream> open(const redis::Endpoint& endpoint,
                                        const Tls* tls, Timeout timeout)
{
    if (endpoint.is_unix()) {
        return redis::connect_unix(endpoint.path, timeout);
    }
    auto socket = redis::connect_tcp(endpoint.host, endpoint.port, timeout);
    return endpoint.tls ? tls->start(std::move(socket), endpoint.host, timeout)
                        : std::move(socket);
}

const redis::Reply& call(redis::BlockingConnection& connection,
                         const redis::Command& command)
{
    connection.append(command);
    return connection.get();
}

// A server without AUTH repeats the arguments of a command that it does not
// know, which are the password. Redis's own refusals do not.
std::string login_error(const redis::Reply& error)
{
    constexpr std::string_view kNoPassword = "ERR AUTH ";
    const bool known =
        error.error_code() != "ERR"
        || error.text().substr(0, kNoPassword.size()) == kNoPassword;
    return known ? error_text(error) : "it does not know AUTH";
}

// Throws redis::ConnectionError, and Failure if Redis refuses the login.
redis::BlockingConnection log_in(const redis::Endpoint& endpoint,
                                 const Tls* tls, Timeout to_connect,
                                 Timeout to_reply, const std::string& where)
{
    redis::BlockingConnection connection(open(endpoint, tls, to_connect));
    connection.set_timeout(to_reply);
    if (endpoint.tls) {
        // Any reply will do. With TLS 1.3, the server may refuse the client
        // certificate after the handshake: not with a change in doubt.
        call(connection, redis::Command("PING"));
    }
    if (!endpoint.user.empty() || !endpoint.password.empty()) {
        redis::Command auth("AUTH");
        if (!endpoint.user.empty()) {
            auth.arg(endpoint.user);
        }
        const redis::Reply& reply =
            call(connection, auth.arg(endpoint.password));
        if (reply.is_error()) {
            throw Failure(where + ": " + login_error(reply));
        }
    }
    return connection;
}

std::string cannot_connect(const std::string& where, const char* reason)
{
    return "cannot connect to " + where + ": " + reason;
}

OpenConnection connect_server(const redis::Endpoint& endpoint, const Tls* tls,
                              Timeout to_log_in)
{
    const std::string where = endpoint.display();
    try {
        auto connection =
            log_in(endpoint, tls, kConnectTimeout, to_log_in, where);
        if (endpoint.database) {
            const redis::Reply& reply = call(
                connection, redis::Command("SELECT").arg(endpoint.database));
            if (reply.is_error()) {
                throw Failure(where + ": " + error_text(reply));
            }
        }
        return {where, std::move(connection)};
    } catch (const TlsError& error) {
        throw Failure(cannot_connect(where, error.what()));
    } catch (const redis::ConnectionError& error) {
        throw NotServing(cannot_connect(where, error.what()));
    }
}

// Connects to a server that a Sentinel named. Nothing is written to a replica:
// it may be configured to accept writes.
OpenConnection connect_primary(const redis::Endpoint& endpoint, const Tls* tls)
{
    using Role = redis::Replication::Role;
    auto open = connect_server(endpoint, tls, kConnectTimeout);
    try {
        const Role role = redis::parse_replication(
                              call(open.connection, redis::info_replication()))
                              .role;
        if (role == Role::replica) {
            throw NotServing(open.where + " is a replica");
        }
        if (role == Role::unanswered) {
            throw NotServing(open.where + " does not report its role");
        }
        return open;
    } catch (const redis::ConnectionError& error) {
        throw NotServing(cannot_connect(open.where, error.what()));
    }
}

class Sentinels {
public:
    Sentinels(const redis::Deployment& deployment, const std::string& password,
              const Tls* tls)
        : deployment_(deployment), tls_(tls)
    {
        server_.tls = deployment.tls();
        server_.database = deployment.endpoints.front().database;
        server_.password = password;
    }

    OpenConnection connect()
    {
        const auto deadline = Clock::now() + kFailoverTime;
        for (;;) {
            if (auto primary = ask_all()) {
                return std::move(*primary);
            }
            if (!in_failover_ || Clock::now() + kPause >= deadline) {
                throw Failure("cannot reach the primary \""
                              + deployment_.primary_name + "\": " + problems_);
            }
            std::this_thread::sleep_for(kPause);
        }
    }

private:
    // One round. nullopt if no Sentinel led to a primary.
    std::optional<OpenConnection> ask_all()
    {
        std::vector<redis::ServerAddress> tried;
        problems_.clear();
        in_failover_ = false;
        for (const redis::Endpoint& sentinel : deployment_.endpoints) {
            try {
                const auto address = ask(sentinel);
                if (std::find(tried.begin(), tried.end(), address)
                    != tried.end()) {
                    continue;
                }
                tried.push_back(address);
                server_.host = address.host;
                server_.port = address.port;
                return connect_primary(server_, tls_);
            } catch (const NotServing& problem) {
                in_failover_ = true;
                add(problem.what());
            } catch (const Failure& problem) {
                add(problem.what());
            }
        }
        return std::nullopt;
    }

    redis::ServerAddress ask(const redis::Endpoint& sentinel) const
    {
        using Result = redis::PrimaryAddress::Result;
        redis::Endpoint plain = sentinel;
        plain.database = 0;  // the servers'
        const std::string where = "Sentinel " + plain.display();
        try {
            auto connection =
                log_in(plain, tls_, kSentinelTimeout, kSentinelTimeout, where);
            const auto question =
                redis::primary_address_request(deployment_.primary_name);
            const redis::Reply& reply = call(connection, question);
            auto primary = redis::parse_primary_address(reply);
            switch (primary.result) {
            case Result::found:
                return std::move(primary.address);
            case Result::unknown_name:
                throw Failure(where + " does not monitor it");
            case Result::refused:
                throw Failure(where + ": " + error_text(reply));
            case Result::invalid:
                break;
            }
            throw Failure(where + " gave no valid address");
        } catch (const redis::ConnectionError& error) {
            throw Failure(cannot_connect(where, error.what()));
        }
    }

    void add(const char* problem)
    {
        problems_ += (problems_.empty() ? "" : "; ");
        problems_ += problem;
    }

    const redis::Deployment& deployment_;
    const Tls* tls_;
    redis::Endpoint server_;  // the one named last
    std::string problems_;    // of the last round
    bool in_failover_ = false;
};

}  // namespace

std::string error_text(const redis::Reply& error)
{
    constexpr std::size_t kMost = 200;
    std::string text(error.text().substr(0, kMost));
    std::replace_if(
        text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; },
        '?');
    return text;
}

OpenConnection connect(const redis::Deployment& deployment,
                       const std::string& password, const Tls* tls)
{
    if (deployment.form == redis::Deployment::Form::sentinel) {
        auto open = Sentinels(deployment, password, tls).connect();
        open.connection.set_timeout(kReplyTimeout);
        return open;
    }
    redis::Endpoint endpoint = deployment.endpoints.front();
    if (endpoint.password.empty()) {
        endpoint.password = password;
    }
    return connect_server(endpoint, tls, kReplyTimeout);
}

}  // namespace petstore::ctl
