#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "../../redis/slot_map.h"

namespace petstore::ctl {

// A server of a Cluster, as described by another server.
struct ClusterNode {
    redis::ServerAddress address;  // port 0: no server knows it
    bool is_primary = false;
    bool has_slots = false;
    std::size_t replicas = 0;  // without failed ones

    bool has_address() const noexcept { return address.port != 0; }

    std::string name() const
    {
        if (!has_address()) {
            return "node " + std::string(address.id.text());
        }
        return address.host + ":" + std::to_string(address.port);
    }
};

// The reply to CLUSTER NODES, primaries first. `asked` is the host that
// replied. Omits malformed lines.
std::vector<ClusterNode> parse_cluster_nodes(std::string_view text,
                                             const std::string& asked);

// Replaces the addresses of nodes that are in the map: those of CLUSTER NODES
// are IP addresses, also if the nodes announce names.
void take_addresses(const redis::SlotMap& map, std::vector<ClusterNode>& nodes);

}  // namespace petstore::ctl
