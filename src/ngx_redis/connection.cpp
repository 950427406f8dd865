#include "connection.h"

#include "../ngx_base/exception_border.h"
#include "../ngx_base/str.h"

namespace petstore::ngx_redis {

namespace {

using Failure = Connection::Failure;
using Cause = metrics::FailureCause;
using Retry = redis::Breaker::Retry;

constexpr std::size_t kReceiveBuffer = 64 * 1024;

constexpr char kCannotConnect[] = "could not connect";
constexpr char kNoneFree[] = "worker_connections are not enough";
constexpr char kTlsFailed[] = "TLS handshake failed";
constexpr char kLost[] = "connection lost";
constexpr char kOutOfMemory[] = "out of memory";
constexpr char kEventError[] = "event error";

// Makes the kernel notice a lost connection within 30 seconds, and keeps
// gateways from forgetting an idle one. Only precautions, so errors are
// ignored.
void keep_alive(int fd) noexcept
{
    constexpr int kIdle = 15;  // seconds
    constexpr int kInterval = 5;
    constexpr int kProbes = 3;
    const auto set = [fd](int level, int option, int value) {
        (void)setsockopt(fd, level, option, &value, sizeof(value));
    };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, kIdle);
    set(IPPROTO_TCP, TCP_KEEPINTVL, kInterval);
    set(IPPROTO_TCP, TCP_KEEPCNT, kProbes);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, (kIdle + kInterval * kProbes) * 1000);
}

// Linux reports a unix socket as writable whenever its peer has read from it: a
// worker would be woken up once more for each command. Writability is of
// interest only after an incomplete write, when ngx_handle_write_event() asks
// for it again.
void ignore_writability(ngx_event_t& event) noexcept
{
    if ((ngx_event_flags & NGX_USE_EPOLL_EVENT) != 0 && event.active
        && event.ready) {
        // With this flag, the read event stays edge-triggered. A failure costs
        // nothing but the wake-ups.
        (void)ngx_del_event(&event, NGX_WRITE_EVENT, NGX_CLEAR_EVENT);
    }
}

}  // namespace

Connection::Connection(const TlsSettings& tls, redis::Pipeline& pipeline,
                       Listener& listener, NodeLog& log,
                       redis::ReplyLimits limits)
    : pipeline_(pipeline), listener_(listener), log_(log), limits_(limits),
      tls_(tls, log.log()), silent_log_(*log.log()), received_(kReceiveBuffer),
      timeout_(*this, log.log(), ngx_base::OnExit::cancel)
{
    silent_log_.log_level = NGX_LOG_STDERR;
}

void Connection::open(const PeerAddress& address, const redis::Endpoint& login,
                      const redis::HandshakeCommands& commands,
                      ngx_msec_t timeout) noexcept
{
    address_ = &address;
    login_ = &login;
    commands_ = commands;
    ngx_str_t name = ngx_base::borrow(address.text);

    ngx_peer_connection_t peer{};
    peer.sockaddr = reinterpret_cast<sockaddr*>(
        const_cast<u_char*>(address.sockaddr.data()));
    peer.socklen = static_cast<socklen_t>(address.sockaddr.size());
    peer.name = &name;
    peer.get = ngx_event_get_peer;
    peer.log = &silent_log_;
    peer.log_error = NGX_ERROR_INFO;

    state_ = State::connecting;
    const ngx_int_t rc = ngx_event_connect_peer(&peer);
    if (rc != NGX_OK && rc != NGX_AGAIN) {
        const ngx_err_t error = ngx_socket_errno;
        listener_.on_failure(
            ngx_cycle->free_connection_n == 0
                ? failure(Cause::connect, kNoneFree)
                : failure(Cause::connect, kCannotConnect, error));
        return;
    }

    socket_ = peer.connection;
    socket_->data = this;
    socket_->log = log_.log();
    socket_->read->log = log_.log();
    socket_->write->log = log_.log();
    set_handlers();
    socket_->idle = pipeline_.empty() ? 1 : 0;
    timeout_.start(timeout);

    if (rc == NGX_OK) {
        on_connected();
    }
}

void Connection::close() noexcept
{
    timeout_.stop();
    if (socket_ != nullptr) {
        if (tls_.enabled()) {
            tls_.end(socket_);
        }
        ngx_close_connection(socket_);
        socket_ = nullptr;
    }
    state_ = State::closed;
}

void Connection::set_handlers() noexcept
{
    socket_->read->handler = read_handler;
    socket_->write->handler = write_handler;
}

void Connection::read_handler(ngx_event_t* event) noexcept
{
    auto* socket = static_cast<ngx_connection_t*>(event->data);
    static_cast<Connection*>(socket->data)->on_readable();
}

void Connection::write_handler(ngx_event_t* event) noexcept
{
    auto* socket = static_cast<ngx_connection_t*>(event->data);
    static_cast<Connection*>(socket->data)->on_writable();
}

void Connection::on_connected() noexcept
{
    if (!login_->is_unix()) {
        (void)ngx_tcp_nodelay(socket_);
        keep_alive(socket_->fd);
    }
    if (tls_.enabled()) {
        begin_tls();
    } else {
        begin_handshake();
    }
}

void Connection::begin_tls() noexcept
{
    state_ = State::tls_handshake;
    if (tls_.begin(socket_, address_->host) == NGX_OK) {
        continue_tls();
    } else {
        listener_.on_failure(failure(Cause::tls, tls_.reason(kOutOfMemory)));
    }
}

void Connection::continue_tls() noexcept
{
    const ngx_int_t rc = tls_.handshake(socket_);
    // nginx's handlers would not notice that the worker closes idle
    // connections.
    set_handlers();
    if (rc == NGX_OK) {
        begin_handshake();
    } else if (rc == NGX_ERROR) {
        listener_.on_failure(failure(Cause::tls, tls_.reason(kTlsFailed)));
    }
}

void Connection::begin_handshake() noexcept
{
    const bool begun = ngx_base::guarded(log_.log(), false, [this] {
        decoder_ = std::make_unique<redis::Decoder>(limits_);
        handshake_.begin(*login_, commands_);
        return true;
    });
    if (!begun) {
        listener_.on_failure(failure(Cause::other, kOutOfMemory));
        return;
    }
    state_ = State::handshake;
    listener_.on_connected();
}

void Connection::on_timeout() noexcept
{
    listener_.on_failure(state_ == State::tls_handshake
                             ? failure(Cause::tls, "TLS handshake timed out")
                             : failure(Cause::connect, "connect timed out"));
}

void Connection::on_writable() noexcept
{
    if (state_ == State::tls_handshake) {
        continue_tls();
        return;
    }
    if (state_ != State::connecting) {
        flush();
        return;
    }
    int error = 0;
    socklen_t length = sizeof(error);
    if (getsockopt(socket_->fd, SOL_SOCKET, SO_ERROR, &error, &length) == -1) {
        error = ngx_socket_errno;
    }
    if (error != 0) {
        listener_.on_failure(failure(Cause::connect, kCannotConnect, error));
        return;
    }
    on_connected();
}

void Connection::flush() noexcept
{
    if (state_ != State::handshake && state_ != State::ready) {
        return;
    }
    const bool ready = state_ == State::ready;
    for (;;) {
        const std::string_view bytes =
            ready ? pipeline_.unsent() : handshake_.unsent();
        if (bytes.empty()) {
            break;
        }
        const ssize_t n = socket_->send(
            socket_, reinterpret_cast<u_char*>(const_cast<char*>(bytes.data())),
            bytes.size());
        if (n == NGX_ERROR) {
            if (tls_.enabled()) {
                tls_.read_alert(socket_);
            }
            listener_.on_failure(lost(ngx_socket_errno));
            return;
        }
        if (n == NGX_AGAIN) {
            break;
        }
        if (ready) {
            pipeline_.sent(static_cast<std::size_t>(n));
        } else {
            handshake_.sent(static_cast<std::size_t>(n));
        }
    }
    if (ngx_handle_write_event(socket_->write, 0) != NGX_OK) {
        listener_.on_failure(failure(Cause::other, kEventError));
        return;
    }
    if (state_ == State::ready && login_->is_unix()) {
        ignore_writability(*socket_->write);
    }
}

void Connection::on_readable() noexcept
{
    if (socket_->close) {  // by ngx_close_idle_connections()
        listener_.on_idle_close();
        return;
    }
    if (state_ == State::connecting) {
        return;  // the write event reports the result
    }
    if (state_ == State::tls_handshake) {
        continue_tls();
        return;
    }

    for (;;) {
        const ssize_t n =
            socket_->recv(socket_, reinterpret_cast<u_char*>(received_.data()),
                          received_.size());
        if (n == NGX_AGAIN) {
            break;
        }
        if (n == 0 || n == NGX_ERROR) {
            if (is_ready() && pipeline_.empty()) {
                listener_.on_idle_close();
            } else {
                listener_.on_failure(lost(n == 0 ? 0 : ngx_socket_errno));
            }
            return;
        }

        const Failure failed = ngx_base::guarded(
            log_.log(), failure(Cause::other, kOutOfMemory), [&] {
                return decode({received_.data(), static_cast<std::size_t>(n)});
            });
        if (failed.reason != nullptr) {
            listener_.on_failure(failed);
            return;
        }
    }

    if (ngx_handle_read_event(socket_->read, 0) != NGX_OK) {
        listener_.on_failure(failure(Cause::other, kEventError));
        return;
    }
    socket_->idle = pipeline_.empty() ? 1 : 0;
}

// `error` is 0 if the server closed the connection. The text of a TLS error
// includes the errno.
Failure Connection::lost(ngx_err_t error) const noexcept
{
    return failure(Cause::closed, tls_.reason(kLost),
                   tls_.enabled() ? 0 : error,
                   is_ready() ? Retry::at_once : Retry::after_backoff);
}

// Failures are returned, not reported, because a listener may open the next
// connection, which replaces the decoder in use here.
Failure Connection::decode(std::string_view bytes)
{
    (void)decoder_->feed(bytes);  // next() reports a failure
    for (;;) {
        const redis::Reply* reply = nullptr;
        switch (decoder_->next(reply)) {
        case redis::Decoder::State::incomplete:
            return {};
        case redis::Decoder::State::broken:
            return protocol_error(
                log_.reason("protocol error:", decoder_->problem().c_str()));
        case redis::Decoder::State::reply:
            break;
        }
        const Failure failed = dispatch(*reply);
        if (failed.reason != nullptr) {
            return failed;
        }
    }
}

Failure Connection::dispatch(const redis::Reply& reply) noexcept
{
    if (state_ == State::handshake) {
        return take_handshake_reply(reply);
    }
    return pipeline_.expects_reply() ? listener_.on_reply(reply)
                                     : listener_.on_unrequested(reply);
}

Failure Connection::take_handshake_reply(const redis::Reply& reply) noexcept
{
    switch (handshake_.take(reply)) {
    case redis::Handshake::Step::accepted:
        return {};
    case redis::Handshake::Step::refused:
        return failure(Cause::login, log_.reason("refused with", reply));
    case redis::Handshake::Step::identity:
        return listener_.on_identity(reply);
    case redis::Handshake::Step::unexpected:
        return protocol_error();
    case redis::Handshake::Step::last:
        break;
    }
    const Failure failed = listener_.on_handshake_done(reply);
    if (failed.reason == nullptr) {
        state_ = State::ready;
        timeout_.stop();
    }
    return failed;
}

}  // namespace petstore::ngx_redis
