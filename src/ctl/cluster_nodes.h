#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "../redis/server_address.h"

namespace petstore::ctl {

// A server of a Cluster, as described by another server.
struct ClusterNode {
    redis::ServerAddress address;
    bool is_primary = false;
    bool has_slots = false;
    std::size_t replicas = 0;  // without failed ones

    std::string name() const
    {
        return address.host + ":" + std::to_string(address.port);
    }
};

// The reply to CLUSTER NODES, primaries first. `asked` is the host that
// replied. Omits servers without an address and malformed lines.
std::vector<ClusterNode> parse_cluster_nodes(std::string_view text,
                                             const std::string& asked);

}  // namespace petstore::ctl
