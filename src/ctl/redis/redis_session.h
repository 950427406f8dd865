#pragma once

#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "../../redis/command.h"
#include "../../redis/link.h"
#include "../../redis/reply_copy.h"
#include "../../store/command_runner.h"
#include "cluster.h"
#include "pump.h"
#include "server_link.h"

namespace petstore::ctl {

// The Redis that one option names: a link for store code, and the same for
// straight code, which waits for each reply. Throws Failure with a message for
// the operator.
class RedisSession final : public store::CommandRunner {
public:
    RedisSession(Pump& pump, OpenConnection server);

    // A Cluster. Throws Failure if no server provides its map.
    RedisSession(Pump& pump, std::unique_ptr<ClusterServers> servers);

    ~RedisSession();
    RedisSession(const RedisSession&) = delete;
    RedisSession& operator=(const RedisSession&) = delete;

    redis::Link& link() noexcept { return *link_; }
    Pump& pump() noexcept { return pump_; }

    void send(const redis::Command& command) override;
    const redis::Reply& receive() override;
    const redis::Reply& run(redis::Command command) override;
    void each_server(const Visit& visit) override;
    bool serves(std::string_view key) override
    {
        return !cluster_ || cluster_->serves(key);
    }
    bool is_cluster() const noexcept override { return cluster_ != nullptr; }

    // Writes the commands that send() has buffered.
    void flush() noexcept { pump_.flush(); }

    // The next reply, even if it is an error. Valid until the next call.
    const redis::Reply& receive_any();

    // Throws Failure if a server that was named alone is a node of a Cluster:
    // it has only a part of the data.
    void refuse_cluster_node() const;

    // Throws an error reply as Failure.
    void check(const redis::Reply& reply) const;
    void check(const redis::Reply& reply, const redis::Command& command) const;

    // A session with one server of the Cluster, over a separate connection.
    RedisSession open(const redis::ServerAddress& server) const
    {
        return {pump_, cluster_->connect(server)};
    }

    // nullptr unless this is a Cluster.
    Cluster* cluster() const noexcept { return cluster_.get(); }

    // The host that sent the last reply.
    const std::string& last_host() const;

private:
    class Result;
    using Results = std::list<Result>;

    redis::Link& link_for(const redis::Command& command);
    [[noreturn]] void throw_failure(const Result& result);
    [[noreturn]] void throw_cluster_node(const std::string& url) const;
    redis::SlotMap settled_map();

    Pump& pump_;
    Results due_;        // in the order of their commands
    Results replied_;    // the last one
    Results abandoned_;  // after a failure; their links still know them
    std::unique_ptr<ServerLink> server_;  // or
    std::unique_ptr<Cluster> cluster_;
    redis::Link* link_;
};

}  // namespace petstore::ctl
