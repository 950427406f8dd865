#pragma once

#include <cstdint>
#include <memory>

#include "../metrics/redis_counters.h"
#include "../ngx_base/ngx.h"
#include "../ngx_base/timer.h"
#include "../redis/breaker.h"
#include "../redis/command.h"
#include "../redis/link.h"
#include "../redis/pipeline.h"
#include "../redis/scheduler.h"
#include "address_source.h"
#include "connection.h"
#include "dialer.h"
#include "idle_watch.h"
#include "node_log.h"
#include "node_settings.h"
#include "server_check.h"

namespace petstore::ngx_redis {

// A worker's link to one Redis over one pipelined connection. Owned by the
// Worker.
//
// Commands of one event-loop iteration are sent in one write. A command that is
// not answered in time fails together with everything behind it, and the
// connection is closed: late replies are discarded with it. Nothing is resent.
// Timeouts count from send(), so commands may fail while an attempt to connect
// continues. After a failure the breaker opens: commands fail at once while a
// background probe reconnects with a growing, jittered back-off.
//
// Only a primary is used. The handshake asks for the role; once a second has
// passed, an INFO ahead of the next command asks again. On a connection that
// was idle, commands are held back until the reply. Without one, the connection
// is replaced. That does not count as a failure, because no command was
// written; see IdleWatch.
//
// Each attempt to connect asks the source for the addresses to try. If the
// server moves, commands that were written fail as in doubt, and the others
// wait for the new server.
//
// Behind Sentinels and in a Cluster, the handshake also asks which server this
// is: another one may have taken over the address of the one that is meant.
class Node final : public redis::Link,
                   private redis::EndOfIterationTask,
                   private Dialer::User,
                   private Connection::Listener,
                   private IdleWatch::User {
public:
    // `settings`, `scheduler` and `meter` must outlive the node.
    Node(const NodeSettings& settings, std::unique_ptr<AddressSource> source,
         redis::Scheduler& scheduler, metrics::RedisMeter meter,
         const ngx_log_t& log);
    Node(const Node&) = delete;

    // Connects in the background unless a command has done so already. Must not
    // be called within a handler.
    void warm_up() noexcept;

    void send(const redis::Command& command,
              redis::ReplyHandler& handler) noexcept override;

    std::uint64_t
    connection_generation(std::string_view /*key*/) const noexcept override
    {
        return server_.generation();
    }

    // Reconnects if the connection is to another server than the settings name
    // now. Must not be called within a handler.
    void check_identity() noexcept;

    // Closes the connection permanently: on_no_reply() is called for commands
    // without a reply and for later commands. The scheduler must run once more
    // before the node is destroyed.
    void close() noexcept;

private:
    using Failure = Connection::Failure;

    void connect() noexcept;
    void disconnect() noexcept;
    const char* address_text() const noexcept;

    // For the commands that wait to connect.
    void on_trying() noexcept override { restart_deadline(); }
    void on_no_address(const char* reason) noexcept override;
    void on_moved() noexcept override;

    void schedule_flush() noexcept;
    void run() noexcept override;

    void on_connected() noexcept override;
    Failure on_identity(const redis::Reply& reply) noexcept override;
    Failure on_handshake_done(const redis::Reply& role) noexcept override;
    Failure on_reply(const redis::Reply& reply) noexcept override;
    void on_idle_close() noexcept override;
    void on_failure(const Failure& failure) noexcept override;
    void on_idle_check() noexcept override { schedule_flush(); }
    void on_idle_loss(const char* how) noexcept override;

    void report_failure(const Failure& failure) noexcept;
    void on_deadline() noexcept;
    void restart_deadline() noexcept;

    const NodeSettings& settings_;
    redis::Scheduler& scheduler_;
    const metrics::RedisMeter meter_;
    metrics::CountedLink counted_;  // down while the breaker is open
    NodeLog log_;

    redis::Pipeline pipeline_;
    Connection connection_;
    Dialer dialer_;
    redis::Breaker breaker_;
    ServerCheck server_;  // while connected
    IdleWatch idle_;
    bool flush_scheduled_ = false;

    // The deadline of the oldest command.
    ngx_base::Timer<Node, &Node::on_deadline> deadline_;
    ngx_base::Timer<Node, &Node::connect> probe_;
};

}  // namespace petstore::ngx_redis
