#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "../metrics/redis_counters.h"
#include "../ngx_base/ngx.h"
#include "../ngx_base/timer.h"
#include "../redis/breaker.h"
#include "../redis/command.h"
#include "../redis/decoder.h"
#include "../redis/handshake.h"
#include "../redis/pipeline.h"
#include "node_log.h"
#include "node_settings.h"
#include "tls.h"

namespace petstore::ngx_redis {

// A socket to one address of a Redis at a time: connects, performs the
// handshake, writes the commands of a pipeline and decodes the replies. nginx
// owns the socket; hiredis only encodes and decodes. Never closes itself: it
// reports to its listener, which calls close().
class Connection {
public:
    // Why a connection, or an attempt to connect, must be abandoned. A null
    // `reason` means no failure.
    struct Failure {
        const char* reason = nullptr;
        redis::Breaker::Retry retry = redis::Breaker::Retry::after_backoff;
        ngx_err_t error = 0;  // errno, or 0
        metrics::FailureCause cause = metrics::FailureCause::other;
    };

    class Listener {
    public:
        // The handshake is ready to be written: call flush() at the end of the
        // event-loop iteration.
        virtual void on_connected() noexcept = 0;

        // The reply to the handshake's `identity`, possibly an error. Same
        // rules as for on_reply().
        virtual Failure on_identity(const redis::Reply&) noexcept { return {}; }

        // The handshake is complete. `last` is the last reply. The connection
        // is ready unless a failure is returned, which is then reported to
        // on_failure().
        virtual Failure
        on_handshake_done(const redis::Reply& last) noexcept = 0;

        // The reply to the oldest command of the pipeline. The listener must
        // not close the connection from here, but may return a failure.
        virtual Failure on_reply(const redis::Reply& reply) noexcept = 0;

        // A reply that belongs to no command of the pipeline. Same rules as for
        // on_reply().
        virtual Failure on_unrequested(const redis::Reply&) noexcept
        {
            return protocol_error();
        }

        // No command is pending, and the server closed the connection or nginx
        // wants it closed because the worker is quitting. Must call close().
        virtual void on_idle_close() noexcept = 0;

        // Must call close(), then may call open(). Until close(), is_ready()
        // distinguishes a lost connection from a failed attempt to connect.
        virtual void on_failure(const Failure& failure) noexcept = 0;

    protected:
        ~Listener() = default;
    };

    static Failure failure(metrics::FailureCause cause, const char* reason,
                           ngx_err_t error = 0,
                           redis::Breaker::Retry retry =
                               redis::Breaker::Retry::after_backoff) noexcept
    {
        return {reason, retry, error, cause};
    }
    static Failure
    protocol_error(const char* reason = "protocol error") noexcept
    {
        return failure(metrics::FailureCause::protocol, reason);
    }

    // All of the arguments must outlive this object.
    Connection(const TlsSettings& tls, redis::Pipeline& pipeline,
               Listener& listener, NodeLog& log,
               redis::ReplyLimits limits = {});
    ~Connection() { close(); }
    Connection(const Connection&) = delete;

    // Connects, logs in with `login` and sends the commands: the reply to
    // `identity` goes to Listener::on_identity(), that to `last` to
    // on_handshake_done(), and those to `subscription` to on_unrequested().
    // Call only while closed. `address`, `login` and the commands must stay
    // valid until close(). Connecting and the handshakes together may take
    // `timeout` milliseconds. May report a failure before it returns.
    void open(const PeerAddress& address, const redis::Endpoint& login,
              const redis::HandshakeCommands& commands,
              ngx_msec_t timeout) noexcept;

    // Whether there is a socket.
    bool is_open() const noexcept { return socket_ != nullptr; }

    // Whether commands may be written.
    bool is_ready() const noexcept { return state_ == State::ready; }

    // Call set_busy() when a command was added to the pipeline and set_idle()
    // when all were removed: nginx closes idle connections when the worker
    // quits. The connection must be open.
    void set_busy() noexcept { socket_->idle = 0; }
    void set_idle() noexcept { socket_->idle = 1; }

    // Writes the unsent bytes of the handshake, or of the pipeline once the
    // connection is ready. Does nothing while it is not connected.
    void flush() noexcept;

    void close() noexcept;

private:
    enum class State { closed, connecting, tls_handshake, handshake, ready };

    void on_connected() noexcept;
    void begin_tls() noexcept;
    void continue_tls() noexcept;
    void begin_handshake() noexcept;
    void set_handlers() noexcept;
    Failure lost(ngx_err_t error) const noexcept;
    void on_readable() noexcept;
    void on_writable() noexcept;
    void on_timeout() noexcept;
    Failure decode(std::string_view bytes);
    Failure dispatch(const redis::Reply& reply) noexcept;
    Failure take_handshake_reply(const redis::Reply& reply) noexcept;

    static void read_handler(ngx_event_t* event) noexcept;
    static void write_handler(ngx_event_t* event) noexcept;

    redis::Pipeline& pipeline_;
    Listener& listener_;
    NodeLog& log_;
    const redis::ReplyLimits limits_;
    Tls tls_;
    ngx_log_t silent_log_;  // for connecting: the listener logs failures

    State state_ = State::closed;
    ngx_connection_t* socket_ = nullptr;
    const PeerAddress* address_ = nullptr;
    const redis::Endpoint* login_ = nullptr;
    redis::HandshakeCommands commands_;
    redis::Handshake handshake_;
    std::unique_ptr<redis::Decoder> decoder_;
    std::vector<char> received_;

    // Until ready. Commands that wait for the connection have timers that delay
    // the exit of a quitting worker; this one must not.
    ngx_base::Timer<Connection, &Connection::on_timeout> timeout_;
};

}  // namespace petstore::ngx_redis
