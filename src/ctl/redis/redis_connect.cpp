#include "redis_connect.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "../../redis/replication.h"
#include "../../redis/sentinel.h"
#include "../command_line/words.h"
#include "../exit.h"
#include "cluster_servers.h"
#include "redis_error.h"
#include "server_connect.h"

namespace petstore::ctl {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using Timeout = redis::ByteStream::Timeout;

// How long to wait for the end of a failover, and between two rounds through
// all Sentinels.
constexpr Timeout kFailoverTime = 15s;
constexpr Timeout kSentinelPause = 500ms;

// Connects to a server that a Sentinel named. Refuses a replica, which may be
// configured to accept writes, and another server than that with this run ID.
OpenConnection connect_primary(const redis::Endpoint& endpoint,
                               const redis::ServerId& id, const Tls* tls)
{
    using Role = redis::Replication::Role;
    auto open = connect_server(endpoint, tls);
    try {
        const Role role =
            redis::parse_replication(
                open.connection.ask(redis::info_replication(), kLoginTimeout))
                .role;
        if (role == Role::replica) {
            throw NotServing(open.name.url + " is a replica");
        }
        if (role == Role::unanswered) {
            throw NotServing(open.name.url + " does not report its role");
        }
        if (redis::run_id(
                open.connection.ask(redis::run_id_request(), kLoginTimeout))
                .contradicts(id)) {
            throw NotServing(open.name.url
                             + " is another server than the Sentinel means");
        }
        return open;
    } catch (const redis::ConnectionError& error) {
        throw NotServing(cannot_connect(open.name.url, error.what()));
    }
}

class Sentinels {
public:
    Sentinels(const redis::Deployment& deployment,
              const Credentials& credentials, const Tls* tls)
        : deployment_(deployment), tls_(tls)
    {
        server_.tls = deployment.tls();
        server_.database = deployment.endpoints.front().database;
        credentials.complete(server_);
    }

    OpenConnection connect()
    {
        const auto deadline = Clock::now() + kFailoverTime;
        for (;;) {
            if (auto primary = ask_all()) {
                return std::move(*primary);
            }
            if (!in_failover_ || Clock::now() + kSentinelPause >= deadline) {
                const std::string& name = deployment_.primary_name;
                throw Unreachable(
                    "cannot reach the primary"
                    + (may_repeat_path(name) ? " \"" + name + '"' : "") + ": "
                    + problems_);
            }
            std::this_thread::sleep_for(kSentinelPause);
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
                return connect_primary(server_, address.id, tls_);
            } catch (const NotServing& problem) {
                in_failover_ = true;
                add_problem(problems_, problem.what());
            } catch (const Failure& problem) {
                add_problem(problems_, problem.what());
            }
        }
        return std::nullopt;
    }

    redis::ServerAddress ask(const redis::Endpoint& sentinel) const
    {
        using Result = redis::PrimaryAddress::Result;
        redis::Endpoint plain = sentinel;
        plain.database = 0;  // the URL's is for the servers
        const std::string where = "Sentinel " + plain.display();
        try {
            auto connection = log_in(plain, tls_, where);
            const auto question =
                redis::primary_address_request(deployment_.primary_name);
            const redis::Reply& reply =
                connection.ask(question, kFinderTimeout);
            auto primary = redis::parse_primary_address(reply);
            switch (primary.result) {
            case Result::found:
                primary.address.id = run_id_of(primary.address, connection);
                return std::move(primary.address);
            case Result::unknown_name:
                throw Unreachable(where + " does not monitor it");
            case Result::refused:
                throw RedisError(where, reply.text());
            case Result::invalid:
                break;
            }
            throw Unreachable(where + " returned an invalid address");
        } catch (const redis::ConnectionError& error) {
            throw Unreachable(cannot_connect(where, error.what()));
        }
    }

    // What the Sentinel knows; empty if it does not tell, or means another
    // server, as during a failover.
    redis::ServerId run_id_of(const redis::ServerAddress& address,
                              Connection& connection) const
    {
        const auto record = redis::parse_primary_record(connection.ask(
            redis::primary_record_request(deployment_.primary_name),
            kFinderTimeout));
        return record && *record == address ? record->id : redis::ServerId();
    }

    const redis::Deployment& deployment_;
    const Tls* tls_;
    redis::Endpoint server_;  // last named by a Sentinel
    std::string problems_;    // of the last round
    bool in_failover_ = false;
};

}  // namespace

std::unique_ptr<RedisSession> connect(const redis::Deployment& deployment,
                                      const Credentials& credentials,
                                      const Tls* tls, Pump& pump)
{
    using Form = redis::Deployment::Form;
    if (deployment.form == Form::cluster) {
        return std::make_unique<RedisSession>(
            pump, cluster_servers(deployment, credentials, tls));
    }
    if (deployment.form == Form::sentinel) {
        return std::make_unique<RedisSession>(
            pump, Sentinels(deployment, credentials, tls).connect());
    }
    redis::Endpoint endpoint = deployment.endpoints.front();
    credentials.complete(endpoint);
    return std::make_unique<RedisSession>(pump, connect_server(endpoint, tls));
}

}  // namespace petstore::ctl
