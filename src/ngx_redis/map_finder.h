#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../ngx_base/ngx.h"
#include "../ngx_base/timer.h"
#include "../redis/command.h"
#include "../redis/pipeline.h"
#include "../redis/slot_map.h"
#include "connection.h"
#include "dialer.h"
#include "node_log.h"
#include "node_settings.h"

namespace petstore::ngx_redis {

// The settings of a server that the Cluster announces. It cannot be reached if
// they have neither fixed addresses nor a resolver.
HostSettings host_settings(const ClusterSettings& cluster,
                           const redis::ServerAddress& server);

// Asks the servers of a Cluster, replicas included, for its slot map: one after
// the other, each over a separate connection.
class MapFinder final : private Connection::Listener, private Dialer::User {
public:
    class User {
    public:
        // Exactly one of these is called per find(), possibly before it
        // returns.
        virtual void on_map(redis::SlotMap map) noexcept = 0;
        virtual void on_no_map() noexcept = 0;  // already logged

    protected:
        ~User() = default;
    };

    // `settings` are those of a Cluster. All arguments must outlive this
    // object.
    MapFinder(const NodeSettings& settings, User& user, const ngx_log_t& log);
    ~MapFinder() { cancel(); }
    MapFinder(const MapFinder&) = delete;

    // Asks the known and the configured servers, starting with a random one. No
    // search may be in progress.
    void find(const std::vector<redis::ServerAddress>& known) noexcept;

    // Cancels the search.
    void cancel() noexcept;

private:
    using Failure = Connection::Failure;

    void add(const HostSettings& host);
    void add_servers(const std::vector<redis::ServerAddress>& known);
    void fail(const Failure& failure) noexcept;
    void remember(const redis::SlotMap& map);
    bool is_known(const redis::ServerId& id) const noexcept;
    void forget_replaced() noexcept;

    void on_trying() noexcept override { connection_.set_busy(); }
    void on_no_address(const char* reason) noexcept override;

    void on_connected() noexcept override { event_.post(); }
    Failure on_identity(const redis::Reply& reply) noexcept override;
    Failure on_handshake_done(const redis::Reply& last) noexcept override;
    Failure on_reply(const redis::Reply& reply) noexcept override;
    void on_idle_close() noexcept override;
    void on_failure(const Failure& failure) noexcept override;
    void on_event() noexcept;

    const NodeSettings& settings_;
    User& user_;
    const redis::Command request_;
    const redis::Command identity_request_;
    NodeLog log_;
    redis::Pipeline pipeline_;  // always empty
    Connection connection_;
    Dialer dialer_;  // its servers: the configured ones, then the known ones
    redis::ServerId identity_;  // of the current server
    std::optional<redis::SlotMap> found_;

    // Which server is at which address (as text), by all maps so far: the
    // latest may lack the address of a server that was replaced. If a server
    // that no map contains answers at one of these addresses, it may belong to
    // another Cluster, whose map would lead away from the data. So its map is
    // not asked for until a map of this Cluster contains it.
    using Identities = std::map<std::string, redis::ServerId>;
    Identities identities_;

    // In this search: the servers that were refused for that reason, by
    // address, and whether anything else failed.
    Identities others_;
    bool other_failure_ = false;

    bool lost_ = false;  // the last search failed
    ngx_msec_t lost_at_ = 0;
    ngx_base::PostedEvent<MapFinder, &MapFinder::on_event> event_;
};

}  // namespace petstore::ngx_redis
