#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../resp/command.h"
#include "../resp/decoder.h"
#include "../store/endpoint.h"
#include "../store/handshake.h"
#include "../store/link.h"
#include "../store/pipeline.h"
#include "../store/replication.h"
#include "link_log.h"
#include "ngx.h"
#include "timer.h"

namespace petstore::ngx {

// What a link needs to know of its Redis; made at configuration time, lives in
// the configuration of its cycle.
struct LinkSettings {
    store::Endpoint endpoint;
    std::string name;  // of the endpoint, for the log: no credentials
    ngx_msec_t connect_timeout = 250;
    ngx_msec_t timeout = 500;

    struct Address {
        std::vector<u_char> sockaddr;
        std::string text;
    };
    std::vector<Address> addresses;  // at least one; tried in turn
};

// The pipelined connection of one worker to one Redis. nginx owns the socket
// and every wait; hiredis only encodes and decodes. Owned by the Worker.
//
// Commands of one turn of the event loop leave in one write. A command that is
// not answered in time fails together with everything behind it, and the
// connection is closed: what comes late meets a closed socket. Nothing is
// resent. After a failure the breaker is open: commands fail at once while a
// background probe reconnects with growing, jittered pauses.
//
// Only a primary is used. The greeting asks for the role, and so does an INFO
// that goes ahead of the next command once a second has passed. An idle
// connection sends nothing.
class RedisLink final : public store::TurnLink {
public:
    RedisLink(const LinkSettings& settings, ngx_log_t& log);
    ~RedisLink();
    RedisLink(const RedisLink&) = delete;
    RedisLink& operator=(const RedisLink&) = delete;

    void send(const resp::Command& command,
              store::ReplyHandler& handler) noexcept override;
    void defer(store::Deferred& deferred) noexcept override;
    std::uint64_t session() const noexcept override { return session_; }

private:
    // closed: no socket. A command opens one, unless the breaker is open.
    // connecting → greeting (AUTH, SELECT, PING, INFO) → ready.
    enum class State { closed, connecting, greeting, ready };

    enum class Pause { none, growing };

    // Why the connection cannot be used any longer; without a reason it can.
    struct Trouble {
        const char* reason = nullptr;
        Pause pause = Pause::growing;
        bool replica = false;
    };

    bool send_check() noexcept;
    void await_reply() noexcept;

    void connect() noexcept;
    void try_address() noexcept;
    void on_connected() noexcept;
    void on_readable() noexcept;
    void on_writable() noexcept;
    void end_turn() noexcept;
    void flush() noexcept;
    Trouble take(std::string_view bytes);
    Trouble dispatch(const resp::Reply& reply) noexcept;
    Trouble greeting_reply(const resp::Reply& reply) noexcept;
    Trouble take_role(const resp::Reply& reply) noexcept;
    Trouble examine_error(const resp::Reply& error) noexcept;
    bool shows_recovery(const resp::Reply& reply) const noexcept;

    void on_deadline() noexcept;
    void watch_deadline() noexcept;
    void probe() noexcept;

    void fail(const Trouble& trouble, ngx_err_t error = 0) noexcept;
    void disconnect() noexcept;

    static void read_handler(ngx_event_t* event);
    static void write_handler(ngx_event_t* event);

    const LinkSettings& settings_;
    const resp::Command check_;  // INFO replication
    LinkLog log_;
    ngx_log_t connect_log_;  // the same, silent: one line per outage is ours
    std::size_t address_ = 0;
    std::size_t untried_ = 0;    // addresses left for this attempt to connect
    ngx_msec_t connect_by_ = 0;  // when the attempt has to be over

    State state_ = State::closed;
    ngx_connection_t* connection_ = nullptr;
    std::unique_ptr<resp::Decoder> decoder_;
    store::Handshake handshake_;  // sent before pipeline_
    store::Pipeline pipeline_;
    std::vector<char> in_;

    bool breaker_open_ = false;
    unsigned failures_ = 0;  // since a reply that shows_recovery()
    ngx_msec_t lost_at_ = 0;
    ngx_msec_t greeted_at_ = 0;

    store::RoleWatch role_;
    bool refused_write_ = false;  // in this outage, as a replica does
    std::uint64_t session_ = 0;

    store::Deferred* deferred_ = nullptr;  // the first
    store::Deferred** deferred_end_ = &deferred_;

    TurnEnd<RedisLink, &RedisLink::end_turn> turn_end_;
    Timer<RedisLink, &RedisLink::on_deadline> deadline_;
    Timer<RedisLink, &RedisLink::probe> probe_;
};

}  // namespace petstore::ngx
