#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../../redis/reply_copy.h"
#include "../../redis/slot_map.h"
#include "redis_session.h"
#include "server_connect.h"

namespace petstore::ctl {

// Finds and connects the servers of a Cluster. Throws NotServing for problems
// that may resolve themselves within seconds, and Failure for all others.
class ClusterServers {
public:
    using Clock = std::chrono::steady_clock;

    virtual ~ClusterServers() = default;

    // The slot map of one of the servers.
    virtual redis::SlotMap find_map() = 0;

    virtual OpenConnection connect(const redis::ServerAddress& server) = 0;

    virtual Clock::time_point now() = 0;
    virtual void pause() = 0;  // before another attempt
};

// Commands to a Redis Cluster, over one connection to each primary in use.
// Pipelines run on all of them at once; replies are returned in the order of
// the commands.
//
// Follows MOVED and ASK, and repeats commands refused with TRYAGAIN or
// CLUSTERDOWN, which no server has executed. Waits for the end of a failover
// before sending a command. Never resends a command whose reply was lost.
class ClusterSession final : public RedisSession {
public:
    // How long to repeat a command, or to wait for a server.
    static constexpr std::chrono::seconds kPatience{15};

    // Throws Failure if no server provides the map.
    explicit ClusterSession(std::unique_ptr<ClusterServers> servers);
    ~ClusterSession() override;

    void send(const redis::Command& command) override;
    void flush() override;
    const redis::Reply& receive_any() override;
    void each_server(const Visit& visit) override;
    bool serves(std::string_view key) override;
    int descriptor(std::string_view key) const noexcept override;
    ClusterSession* cluster() noexcept override { return this; }

    // Opens a separate connection to one of the servers.
    OpenConnection connect(const redis::ServerAddress& server)
    {
        return servers_->connect(server);
    }

    // The current slot map.
    redis::SlotMap map() { return servers_->find_map(); }

    // The host that sent the last reply.
    const std::string& last_host() const noexcept { return host_; }

private:
    struct Pending;
    struct Node;

    const std::string& where() const noexcept override { return where_; }

    Node& node(const redis::ServerAddress& address);
    using Deadline = std::optional<ClusterServers::Clock::time_point>;

    redis::ServerAddress address_for(const Pending& pending);
    redis::ServerAddress primary_of(std::uint16_t slot);
    redis::ServerAddress any_primary();
    bool may_wait(Deadline& deadline);
    void route(Pending& pending);
    void route(Pending& pending, const redis::ServerAddress& first, bool ask);
    void write_all();
    const redis::Reply& await(Pending& pending);
    bool repeat(Pending& pending, const redis::Reply& error);
    redis::SlotMap settled_map();
    void reset();

    std::unique_ptr<ClusterServers> servers_;
    std::optional<redis::SlotMap> map_;
    std::list<Node> nodes_;
    std::deque<std::unique_ptr<Pending>> pending_;
    std::unique_ptr<Pending> delivered_;      // owns the last returned reply
    Deadline serves_by_;                      // of serves()
    std::vector<redis::ServerAddress> away_;  // those that it gave up
    std::string where_;
    std::string host_;
};

}  // namespace petstore::ctl
