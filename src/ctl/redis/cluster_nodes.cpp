#include "cluster_nodes.h"

#include <algorithm>
#include <map>
#include <optional>

#include "../../api/text.h"

namespace petstore::ctl {

namespace {

constexpr std::int64_t kMaxPort = 65535;

// Fields of a line, separated by spaces.
enum Field : std::size_t { kId, kAddress, kFlags, kPrimary, kFirstSlot = 8 };

std::vector<std::string_view> split(std::string_view text, char separator)
{
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        const std::string_view part = text.substr(0, text.find(separator));
        parts.push_back(part);
        text.remove_prefix(std::min(text.size(), part.size() + 1));
    }
    return parts;
}

// "10.0.0.1:6379@16379,name". An IPv6 host has no brackets. Port 0 stands for
// an unknown address.
std::optional<redis::ServerAddress> parse_address(std::string_view text,
                                                  const std::string& asked)
{
    text = text.substr(0, text.find('@'));
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) {
        return std::nullopt;
    }
    const auto port = api::parse_int64(text.substr(colon + 1));
    if (!port || *port < 0 || *port > kMaxPort) {
        return std::nullopt;
    }
    const std::string_view host = text.substr(0, colon);
    return redis::ServerAddress{host.empty() ? asked : std::string(host),
                                static_cast<int>(*port)};
}

bool contains(const std::vector<std::string_view>& flags, std::string_view flag)
{
    return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

}  // namespace

std::vector<ClusterNode> parse_cluster_nodes(std::string_view text,
                                             const std::string& asked)
{
    std::vector<ClusterNode> nodes;
    std::map<std::string_view, std::size_t> replicas;  // by the primary's id
    std::vector<std::string_view> ids;
    for (const std::string_view line : split(text, '\n')) {
        const auto fields = split(line, ' ');
        if (fields.size() < kFirstSlot) {
            continue;
        }
        const auto flags = split(fields[kFlags], ',');
        const auto address = parse_address(fields[kAddress], asked);
        const redis::ServerId id(fields[kId]);
        if (!address || id.empty()) {
            continue;
        }
        ClusterNode node;
        node.address = *address;
        node.address.id = id;
        node.is_primary = contains(flags, "master");
        node.has_slots = fields.size() > kFirstSlot;
        if (!node.is_primary && !contains(flags, "fail")) {
            ++replicas[fields[kPrimary]];
        }
        nodes.push_back(std::move(node));
        ids.push_back(fields[kId]);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        nodes[i].replicas = replicas[ids[i]];
    }
    std::stable_sort(nodes.begin(), nodes.end(),
                     [](const ClusterNode& a, const ClusterNode& b) {
                         return a.is_primary && !b.is_primary;
                     });
    return nodes;
}

void take_addresses(const redis::SlotMap& map, std::vector<ClusterNode>& nodes)
{
    for (const auto* servers : {&map.primaries(), &map.replicas()}) {
        for (const redis::ServerAddress& server : *servers) {
            for (ClusterNode& node : nodes) {
                if (node.address.id == server.id) {
                    node.address = server;
                }
            }
        }
    }
}

}  // namespace petstore::ctl
