#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <vector>

#include "../../redis/cluster_link.h"
#include "cluster_servers.h"
#include "pump.h"
#include "server_link.h"

namespace petstore::ctl {

// A Redis Cluster, over one connection to each primary in use. What differs
// from a worker's: a command that no server has executed is tried again for
// kPatience, also while the server of its slot is away; there is no breaker,
// and connections and searches for the map may block.
class Cluster final : private redis::ClusterLink::Owner,
                      private redis::Alarm,
                      private Pump::Member {
public:
    static constexpr std::chrono::milliseconds kPatience{15'000};

    // Throws Failure if no server provides the map.
    Cluster(Pump& pump, std::unique_ptr<ClusterServers> servers);
    ~Cluster();
    Cluster(const Cluster&) = delete;

    redis::ClusterLink& link() noexcept { return link_; }

    // A server that is there, for commands without a key. Throws Failure.
    ServerLink& any_server();

    // The current slot map, and a separate connection to one of the servers.
    // Throw Failure.
    redis::SlotMap map() { return servers_->find_map(); }
    OpenConnection connect(const redis::ServerAddress& server)
    {
        return servers_->connect(server);
    }

private:
    struct Node;

    Node& node(const redis::ServerAddress& server);

    redis::Link* link_to(const redis::ServerAddress& primary) noexcept override;
    // Links are kept: the command ends soon.
    void keep(const std::vector<redis::ServerAddress>&) noexcept override {}
    void find_map() noexcept override { searches_ = true; }
    void queue_full() noexcept override {}
    void command_failed(const redis::Reply&) noexcept override {}
    bool may_recover() const noexcept override
    {
        return pump_.may_recover_soon();
    }

    std::uint64_t now() const noexcept override;
    void set(redis::Alarm::User& user, std::uint64_t time) noexcept override;
    void stop() noexcept override { alarm_ = Pump::Time::max(); }

    void write() noexcept override;
    pollfd waits_for(Pump::Time& until) const noexcept override;
    void proceed(bool ready) noexcept override;

    Pump& pump_;
    std::unique_ptr<ClusterServers> servers_;
    redis::Alarm::User* alarm_user_ = nullptr;
    Pump::Time alarm_ = Pump::Time::max();
    bool searches_ = false;
    bool closed_ = false;
    redis::ClusterLink link_;
    std::list<Node> nodes_;  // end before link_
};

}  // namespace petstore::ctl
