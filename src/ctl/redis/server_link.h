#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "../../redis/link.h"
#include "../../redis/pipeline.h"
#include "pump.h"
#include "server_connect.h"

namespace petstore::ctl {

// A link to one server, run by a pump. Waits for a command's result as long as
// replies arrive at least every kReplyTimeout.
//
// A gateway may forget a connection while it is idle, and Redis closes it after
// its "timeout". So if no reply is due and nothing was written for kTrusted, a
// PING precedes the next command. If it gets no reply, the command goes over
// another connection to the same data.
class ServerLink final : public redis::Link, private Pump::Member {
public:
    static constexpr std::chrono::seconds kTrusted{2};

    // The time before another attempt to connect. Until then, commands fail.
    static constexpr std::chrono::milliseconds kPause{100};

    // Uses this connection, or after a pause another one to the same data, but
    // none once it is lost.
    ServerLink(Pump& pump, OpenConnection open);

    // Connects when there is a command but no connection.
    using Connect = std::function<OpenConnection()>;
    ServerLink(Pump& pump, Connect connect);

    ~ServerLink();
    ServerLink(const ServerLink&) = delete;

    void send(const redis::Command& command,
              redis::ReplyHandler& handler) noexcept override;

    std::uint64_t
    connection_generation(std::string_view /*key*/) const noexcept override
    {
        return generation_;
    }

    bool is_open() const noexcept { return open_.has_value(); }

    // Connects now, unless there is a connection. Throws Failure.
    void open();

    const ServerName& name() const noexcept { return name_; }
    bool is_cluster_node() const noexcept
    {
        return open_ && open_->is_cluster_node;
    }

private:
    void write() noexcept override;
    pollfd waits_for(Pump::Time& until) const noexcept override;
    void proceed(bool ready) noexcept override;

    template <typename Use>
    void use(Use&& use) noexcept;
    void write_commands();
    void check_idle_connection();
    void read_replies();
    bool has_unsent() const noexcept;
    Pump::Time deadline() const noexcept;
    void fail(std::exception_ptr problem,
              bool may_recover_soon = false) noexcept;
    void lose(const std::string& why);

    Pump& pump_;
    ServerName name_;
    Connect connect_;
    std::optional<OpenConnection> open_;
    redis::Pipeline commands_;
    std::uint64_t generation_ = 0;
    Pump::Time wrote_at_;
    Pump::Time due_since_;     // the oldest reply that is due
    std::exception_ptr lost_;  // why there is no connection
    Pump::Time may_connect_at_ = Pump::Time::min();
};

}  // namespace petstore::ctl
