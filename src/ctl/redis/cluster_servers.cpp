#include "cluster_servers.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "../exit.h"
#include "redis_error.h"

namespace petstore::ctl {

namespace {

class Servers final : public ClusterServers {
public:
    Servers(const redis::Deployment& deployment, const Credentials& credentials,
            const Tls* tls)
        : server_(deployment.endpoints.front()), tls_(tls)
    {
        credentials.complete(server_);
        for (const redis::Endpoint& seed : deployment.endpoints) {
            known_.push_back({seed.host, seed.port});
        }
    }

    redis::SlotMap find_map() override
    {
        std::string problems;
        bool passes = false;
        for (const redis::ServerAddress& server : known_) {
            try {
                auto map = ask(server);
                know(map.primaries());
                know(map.replicas());
                return map;
            } catch (const NotServing& problem) {
                passes = true;
                add_problem(problems, problem.what());
            } catch (const Failure& problem) {
                add_problem(problems, problem.what());
            }
        }
        problems.insert(0, "cannot reach the cluster: ");
        if (passes) {
            throw NotServing(problems);
        }
        throw Unreachable(problems);
    }

    OpenConnection connect(const redis::ServerAddress& server) override
    {
        auto open = connect_server(endpoint(server), tls_);
        try {
            check_id(open.connection, server, open.name.url, kReplyTimeout);
        } catch (const redis::ConnectionError& error) {
            throw NotServing(cannot_connect(open.name.url, error.what()));
        }
        return open;
    }

private:
    redis::Endpoint endpoint(const redis::ServerAddress& server) const
    {
        redis::Endpoint endpoint = server_;
        endpoint.host = server.host;
        endpoint.port = server.port;
        return endpoint;
    }

    // Another server may have taken over the address. A server that does not
    // say who it is counts as the one that is meant.
    static void check_id(Connection& connection,
                         const redis::ServerAddress& server,
                         const std::string& where,
                         redis::ByteStream::Timeout timeout)
    {
        if (!server.id.empty()
            && redis::node_id(connection.ask(redis::node_id_request(), timeout))
                   .contradicts(server.id)) {
            throw NotServing(where
                             + " is another node than the cluster has there");
        }
    }

    redis::SlotMap ask(const redis::ServerAddress& server) const
    {
        const redis::Endpoint there = endpoint(server);
        const std::string where = there.display();
        try {
            auto connection = log_in(there, tls_, where);
            check_id(connection, server, where, kFinderTimeout);
            const redis::Command request = redis::SlotMap::request();
            const redis::Reply& reply = connection.ask(request, kFinderTimeout);
            if (reply.is_error()) {
                throw RedisError(where, reply.text());
            }
            auto map = redis::SlotMap::parse(reply, server.host);
            if (!map) {
                throw Unreachable(where + " returned an invalid slot map");
            }
            if (map->primaries().empty()) {
                throw NotServing(where + " reports no server with slots");
            }
            return std::move(*map);
        } catch (const redis::ConnectionError& error) {
            throw NotServing(cannot_connect(where, error.what()));
        }
    }

    // Remembers the servers of the map: those of the URLs may be down, or may
    // have left the Cluster.
    void know(const std::vector<redis::ServerAddress>& servers)
    {
        for (const redis::ServerAddress& server : servers) {
            const auto known = std::find(known_.begin(), known_.end(), server);
            if (known == known_.end()) {
                known_.push_back(server);
            } else if (!server.id.empty()) {
                known->id = server.id;
            }
        }
    }

    redis::Endpoint server_;  // all but the address
    const Tls* tls_;
    std::vector<redis::ServerAddress> known_;
};

}  // namespace

std::unique_ptr<ClusterServers>
cluster_servers(const redis::Deployment& deployment,
                const Credentials& credentials, const Tls* tls)
{
    return std::make_unique<Servers>(deployment, credentials, tls);
}

}  // namespace petstore::ctl
