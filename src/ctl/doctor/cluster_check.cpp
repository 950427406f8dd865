#include "checks.h"

#include <iterator>
#include <utility>

#include "../../redis/hash_slot.h"
#include "../../redis/reply_fields.h"

namespace petstore::ctl {

namespace {

// The reply to CLUSTER `question`, or nullptr if the server refuses it.
const redis::Reply* ask(RedisSession& redis, std::string_view question)
{
    redis.send(redis::Command("CLUSTER").arg(question));
    const redis::Reply& reply = redis.receive_any();
    return reply.is_error() ? nullptr : &reply;
}

Finding check_state(RedisSession& cluster, const std::string& which)
{
    Finding finding{Verdict::unknown, which + "cluster", "", kAskProvider};
    if (const auto* reply = ask(cluster, "INFO")) {
        const std::string state(
            redis::info_field(reply->text(), "cluster_state"));
        const std::string slots(
            redis::info_field(reply->text(), "cluster_slots_ok"));
        const std::string all = std::to_string(redis::kHashSlots);
        const bool ok = state == "ok" && slots == all;
        finding.verdict = ok ? Verdict::ok : Verdict::wrong;
        finding.found = state + ", " + slots + " of " + all + " slots served";
        finding.advice =
            ok ? ""
               : "start the servers that are down, or give their slots to others: redis-cli --cluster check";
    }
    return finding;
}

// All servers, or the primaries where CLUSTER NODES is refused, which it adds
// to `findings`.
std::vector<ClusterNode> nodes_of(RedisSession& cluster,
                                  const std::string& which,
                                  std::vector<Finding>& findings)
{
    const auto map = cluster.cluster()->map();
    if (const auto* reply = ask(cluster, "NODES")) {
        auto nodes = parse_cluster_nodes(reply->text(), cluster.last_host());
        take_addresses(map, nodes);
        return nodes;
    }
    findings.push_back(
        {Verdict::unknown, which + "cluster nodes", "", kAskProvider});
    std::vector<ClusterNode> nodes;
    for (const redis::ServerAddress& primary : map.primaries()) {
        ClusterNode node;
        node.address = primary;
        node.is_primary = true;
        nodes.push_back(std::move(node));
    }
    return nodes;
}

}  // namespace

std::vector<Finding> check_cluster(RedisSession& cluster,
                                   const std::string& which)
{
    std::vector<Finding> findings = {check_state(cluster, which)};
    for (const ClusterNode& node : nodes_of(cluster, which, findings)) {
        const std::string name = which + node.name() + " ";
        if (!node.has_address()) {
            findings.push_back(
                {node.has_slots ? Verdict::wrong : Verdict::warning,
                 name + kReachable,
                 node.has_slots ? "no address, but it has slots" : "no address",
                 "another server took over its address, or it lost its data: make its replica a primary, or remove it with CLUSTER FORGET and run redis-cli --cluster fix"});
            continue;
        }
        try {
            RedisSession server = cluster.open(node.address);
            auto more = check_server(server, name, &node);
            findings.insert(findings.end(),
                            std::make_move_iterator(more.begin()),
                            std::make_move_iterator(more.end()));
        } catch (const Failure& failure) {
            findings.push_back(
                {Verdict::wrong, name + kReachable, failure.what(),
                 advice_for_failure(
                     failure, "start it, or remove it from the cluster")});
        }
    }
    return findings;
}

}  // namespace petstore::ctl
