#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../resp/decoder.h"
#include "../store/endpoint.h"
#include "../store/link.h"
#include "../store/pipeline.h"
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
    // connecting → greeting (AUTH, SELECT, PING) → ready.
    enum class State { closed, connecting, greeting, ready };

    void connect() noexcept;
    void greet();
    void on_connected() noexcept;
    void on_readable() noexcept;
    void on_writable() noexcept;
    void end_turn() noexcept;
    void flush() noexcept;
    const char* take(std::string_view bytes);
    const char* dispatch(const resp::Reply& reply) noexcept;
    const char* greeting_reply(const resp::Reply& reply) noexcept;
    const char* with_code(const char* words, const resp::Reply& error) noexcept;

    void on_deadline() noexcept;
    void probe() noexcept;

    enum class Pause { none, growing };
    void fail(const char* reason, ngx_err_t error, Pause pause) noexcept;
    void disconnect() noexcept;
    void mark_idle() noexcept;

    static void read_handler(ngx_event_t* event);
    static void write_handler(ngx_event_t* event);

    const LinkSettings& settings_;
    LinkLog log_;
    ngx_log_t connect_log_;  // the same, silent: one line per outage is ours
    std::size_t address_ = 0;

    State state_ = State::closed;
    ngx_connection_t* connection_ = nullptr;
    std::unique_ptr<resp::Decoder> decoder_;
    std::string greeting_;  // its unsent bytes are sent before pipeline_
    std::size_t greeting_left_ = 0;  // replies still to come
    store::Pipeline pipeline_;
    std::vector<char> in_;

    bool breaker_open_ = false;
    unsigned failures_ = 0;  // since the last reply to a command
    ngx_msec_t lost_at_ = 0;
    ngx_msec_t greeted_at_ = 0;
    std::array<char, 64> reason_;  // why the connection has to end

    store::Deferred* deferred_ = nullptr;  // the first
    store::Deferred** deferred_end_ = &deferred_;
    std::uint64_t session_ = 0;

    TurnEnd<RedisLink, &RedisLink::end_turn> turn_end_;
    Timer<RedisLink, &RedisLink::on_deadline> deadline_;
    Timer<RedisLink, &RedisLink::probe> probe_;
};

}  // namespace petstore::ngx
