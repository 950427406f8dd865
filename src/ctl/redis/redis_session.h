#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>

#include "../../api/date.h"
#include "../../redis/command.h"
#include "../../redis/link.h"
#include "../../redis/reply_copy.h"
#include "../../redis/scan.h"
#include "../exit.h"
#include "cluster.h"
#include "pump.h"
#include "server_link.h"

namespace petstore::ctl {

// The Redis that one option names: a link for store code, and the same for
// straight code, which waits for each reply. Throws Failure with a message for
// the operator.
class RedisSession {
public:
    RedisSession(Pump& pump, OpenConnection server);

    // A Cluster. Throws Failure if no server provides its map.
    RedisSession(Pump& pump, std::unique_ptr<ClusterServers> servers);

    ~RedisSession();
    RedisSession(const RedisSession&) = delete;

    redis::Link& link() noexcept { return *link_; }

    // Pipelining: any number of send(), then as many receive(). A reply is
    // valid until the next call.
    void send(const redis::Command& command);
    const redis::Reply& receive();

    // The same, but the error for a key of another type names the key.
    const redis::Reply& receive_naming_key();

    // How many replies are due.
    std::size_t due() const noexcept { return due_.size(); }

    // Receives all that are due. Throws at the first error, after which the
    // session must not be used.
    void receive_all();

    const redis::Reply& call(const redis::Command& command)
    {
        send(command);
        return receive();
    }

    // The same, but the error for a key of another type names the key.
    const redis::Reply& call_naming_key(const redis::Command& command)
    {
        send(command);
        return receive_naming_key();
    }

    // Like call(), but sends a script's text if Redis does not know its digest,
    // and the error for a key of another type names the script's first key.
    const redis::Reply& run(redis::Command command);

    // Calls `visit` once for each server that has a part of the data, for
    // commands that name no key: all primaries of a Cluster, else the server.
    // No other reply may be due. Throws Failure if slots of a Cluster move
    // meanwhile or have no server, and if the user may not ask.
    using Visit = std::function<void(RedisSession&)>;
    void each_server(const Visit& visit);
    bool is_cluster() const noexcept { return cluster_ != nullptr; }

    // Writes the commands that send() has buffered.
    void flush() noexcept { pump_.flush(); }

    // The next reply, even if it is an error.
    const redis::Reply& receive_any();

    // Throws Failure if a server that was named alone is a node of a Cluster:
    // it has only a part of the data.
    void refuse_cluster_node() const;

    // Throws an error reply as Failure, which names `key` if its type is wrong.
    void check(const redis::Reply& reply, std::string_view key = {}) const;

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

// The server's clock. Throws Failure.
api::UnixTime time_of(RedisSession& redis);

// Like send(), for any number of commands, of which a link takes only so many
// at once: receives all replies once `most` are due. End with receive_all().
void send_batched(RedisSession& redis, const redis::Command& command,
                  std::size_t most);

// Calls `use` with each part of what the scan finds. Throws Failure.
void read_all(RedisSession& redis, redis::Scan scan,
              const std::function<void(const redis::Reply&)>& use);

// Throws Failure where each_server() would: call it before a change that only
// each_server() can complete.
void require_settled(RedisSession& redis);

// Calls `use` with each Redis key that matches, on all servers; may call it
// twice for a key. Throws Failure, also while slots of a Cluster move.
void each_key(RedisSession& redis, const std::string& pattern,
              const std::function<void(std::string_view)>& use);

}  // namespace petstore::ctl
