#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "../redis/server_address.h"

namespace petstore::ctl {

// A server of a Cluster as another one knows it.
struct ClusterNode {
    redis::ServerAddress address;
    bool is_primary = false;
    bool has_slots = false;
    std::size_t replicas = 0;  // that have not failed

    std::string name() const
    {
        return address.host + ":" + std::to_string(address.port);
    }
};

// The reply to CLUSTER NODES, primaries first. `asked` is the host that
// replied. Leaves out servers without an address, and lines that it does not
// understand.
std::vector<ClusterNode> parse_cluster_nodes(std::string_view text,
                                             const std::string& asked);

}  // namespace petstore::ctl
