#pragma once

#include <memory>
#include <vector>

#include "../ngx_base/ngx.h"
#include "../ngx_base/timer.h"
#include "../redis/cluster_link.h"
#include "event_loop_alarm.h"
#include "map_finder.h"
#include "node.h"
#include "node_log.h"
#include "node_settings.h"

namespace petstore::ngx_redis {

// A worker's nodes for the primaries of a Redis Cluster, with one connection
// each. Owned by the Worker.
class Cluster final : private redis::ClusterLink::Owner,
                      private MapFinder::User {
public:
    // `settings` are those of a Cluster. They, `scheduler` and `meters` must
    // outlive this object.
    Cluster(const NodeSettings& settings, redis::Scheduler& scheduler,
            metrics::RedisMeters& meters, const ngx_log_t& log);
    ~Cluster();
    Cluster(const Cluster&) = delete;

    redis::Link& link() noexcept { return link_; }

    // Finds the primaries in the background and connects to them.
    void warm_up() noexcept { link_.warm_up(); }

    // See Node::close().
    void close() noexcept;

private:
    // A primary, or a server that is about to become one.
    struct Server;
    using Servers = std::vector<std::unique_ptr<Server>>;

    redis::Link* link_to(const redis::ServerAddress& address) noexcept override;
    void
    keep(const std::vector<redis::ServerAddress>& primaries) noexcept override;
    void find_map() noexcept override { search_.post(); }
    void queue_full() noexcept override;
    void command_failed(const redis::Reply& error) noexcept override;

    void on_map(redis::SlotMap map) noexcept override;
    void on_no_map() noexcept override;

    Server* find(const redis::ServerAddress& address) const noexcept;
    Server* add(const redis::ServerAddress& address);
    bool has_many_outside_map() const noexcept;
    void search() noexcept;
    void retire() noexcept;
    void check_connections() noexcept;

    const NodeSettings& settings_;
    redis::Scheduler& scheduler_;
    metrics::RedisMeters& meters_;
    const metrics::RedisMeter meter_;  // of the Cluster as a whole
    metrics::CountedLink counted_;     // down while no server is known
    const ngx_log_t& worker_log_;
    NodeLog log_;
    MapFinder finder_;
    Servers servers_;
    Servers retired_;  // closed; destroyed by the next retire()
    EventLoopAlarm alarm_;
    redis::ClusterLink link_;
    ngx_base::Timer<Cluster, &Cluster::warm_up> next_search_;
    // Posted, because a search or connection that fails at once must not end
    // other requests within a handler.
    ngx_base::PostedEvent<Cluster, &Cluster::search> search_;
    ngx_base::PostedEvent<Cluster, &Cluster::check_connections> connections_;
    bool closed_ = false;
    bool taking_map_ = false;
    ngx_base::Timer<Cluster, &Cluster::retire> retirement_;
};

}  // namespace petstore::ngx_redis
