#pragma once

#include <memory>

#include "../../redis/deployment.h"
#include "../../redis/slot_map.h"
#include "server_connect.h"
#include "tls.h"

namespace petstore::ctl {

// Finds and connects the servers of a Cluster. Throws NotServing for problems
// that may resolve themselves within seconds, and Failure for all others.
class ClusterServers {
public:
    virtual ~ClusterServers() = default;

    // The slot map of one of the servers.
    virtual redis::SlotMap find_map() = 0;

    virtual OpenConnection connect(const redis::ServerAddress& server) = 0;
};

// Those of the Cluster that the deployment's nodes belong to. Logs in to all
// nodes with the user and password of the first URL, or else with
// `credentials`. `tls`: for rediss:// URLs; must outlive the result.
std::unique_ptr<ClusterServers>
cluster_servers(const redis::Deployment& deployment,
                const Credentials& credentials, const Tls* tls);

}  // namespace petstore::ctl
