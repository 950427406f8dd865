#include "redis_link.h"

#include <algorithm>

#include "../store/failure.h"
#include "guard.h"
#include "str.h"

namespace petstore::ngx {

namespace {

constexpr std::size_t kReceiveBuffer = 64 * 1024;

// Pauses between reconnects, in milliseconds. The longest bounds how long a
// worker may take to see that Redis is back.
constexpr ngx_msec_t kFirstPause = 50;
constexpr ngx_msec_t kLongestPause = 500;

constexpr char kProtocolError[] = "protocol error";
constexpr char kOutOfMemory[] = "out of memory";

// Spread, so that the workers of many hosts do not return all at once.
ngx_msec_t jittered(ngx_msec_t pause) noexcept
{
    return pause - pause / 5 + ngx_random() % (pause * 2 / 5 + 1);
}

bool reached(ngx_msec_t deadline) noexcept
{
    return static_cast<ngx_msec_int_t>(deadline - ngx_current_msec) <= 0;
}

}  // namespace

RedisLink::RedisLink(const LinkSettings& settings, ngx_log_t& log)
    : settings_(settings), log_(settings.name, log), connect_log_(*log_.log()),
      in_(kReceiveBuffer), turn_end_(*this, log_.log()),
      deadline_(*this, log_.log(), false), probe_(*this, log_.log(), true)
{
    connect_log_.log_level = NGX_LOG_STDERR;
}

RedisLink::~RedisLink()
{
    disconnect();
}

void RedisLink::send(const resp::Command& command,
                     store::ReplyHandler& handler) noexcept
{
    if (breaker_open_) {
        handler.on_loss(store::Loss::not_sent);
        return;
    }
    if (pipeline_.full()) {
        log_.refused();
        turn_end_.request();
        handler.on_loss(store::Loss::not_sent);
        return;
    }
    if (!pipeline_.add(command, &handler,
                       ngx_current_msec + settings_.timeout)) {
        handler.on_loss(store::Loss::not_sent);
        return;
    }
    if (state_ == State::closed) {
        connect();
        return;
    }
    connection_->idle = 0;
    if (!deadline_.running()) {
        deadline_.start(settings_.timeout);
    }
    turn_end_.request();
}

void RedisLink::defer(store::Deferred& deferred) noexcept
{
    deferred.next_deferred = nullptr;
    *deferred_end_ = &deferred;
    deferred_end_ = &deferred.next_deferred;
    turn_end_.request();
}

void RedisLink::end_turn() noexcept
{
    while (deferred_ != nullptr) {
        store::Deferred& first = *deferred_;
        deferred_ = first.next_deferred;
        if (deferred_ == nullptr) {
            deferred_end_ = &deferred_;
        }
        first.emit();  // may send, may defer again, and may be gone then
    }
    log_.report_refused();
    flush();
}

void RedisLink::connect() noexcept
{
    const auto& address = settings_.addresses[address_];
    ngx_str_t name = borrow(address.text);

    ngx_peer_connection_t peer{};
    peer.sockaddr = reinterpret_cast<sockaddr*>(
        const_cast<u_char*>(address.sockaddr.data()));
    peer.socklen = static_cast<socklen_t>(address.sockaddr.size());
    peer.name = &name;
    peer.get = ngx_event_get_peer;
    peer.log = &connect_log_;
    peer.log_error = NGX_ERROR_INFO;

    const ngx_int_t rc = ngx_event_connect_peer(&peer);
    if (rc != NGX_OK && rc != NGX_AGAIN) {
        fail("could not connect", ngx_socket_errno, Pause::growing);
        return;
    }

    connection_ = peer.connection;
    connection_->data = this;
    connection_->log = log_.log();
    connection_->read->log = log_.log();
    connection_->write->log = log_.log();
    connection_->read->handler = read_handler;
    connection_->write->handler = write_handler;

    state_ = State::connecting;
    if (deadline_.running()) {
        deadline_.stop();
    }
    deadline_.start(settings_.connect_timeout);

    if (rc == NGX_OK) {
        on_connected();
    }
}

void RedisLink::on_connected() noexcept
{
    const bool ready = guarded(log_.log(), false, [this] {
        decoder_ = std::make_unique<resp::Decoder>();
        greet();
        return true;
    });
    if (!ready) {
        fail(kOutOfMemory, 0, Pause::growing);
        return;
    }
    if (!settings_.endpoint.is_unix()) {
        (void)ngx_tcp_nodelay(connection_);
    }
    state_ = State::greeting;
    turn_end_.request();
}

// Sent ahead of every command, and answered before the first of them goes out:
// a command must not run as the wrong user or in the wrong database.
void RedisLink::greet()
{
    const auto& endpoint = settings_.endpoint;
    greeting_.clear();
    greeting_left_ = 0;
    auto add = [this](const resp::Command& command) {
        command.append_to(greeting_);
        ++greeting_left_;
    };

    if (!endpoint.user.empty()) {
        add(resp::Command("AUTH").arg(endpoint.user).arg(endpoint.password));
    } else if (!endpoint.password.empty()) {
        add(resp::Command("AUTH").arg(endpoint.password));
    }
    if (endpoint.database != 0) {
        add(resp::Command("SELECT").arg(endpoint.database));
    }
    add(resp::Command("PING"));
}

void RedisLink::read_handler(ngx_event_t* event)
{
    auto* connection = static_cast<ngx_connection_t*>(event->data);
    static_cast<RedisLink*>(connection->data)->on_readable();
}

void RedisLink::write_handler(ngx_event_t* event)
{
    auto* connection = static_cast<ngx_connection_t*>(event->data);
    static_cast<RedisLink*>(connection->data)->on_writable();
}

void RedisLink::on_writable() noexcept
{
    if (state_ == State::connecting) {
        int error = 0;
        socklen_t length = sizeof(error);
        if (getsockopt(connection_->fd, SOL_SOCKET, SO_ERROR, &error, &length)
            == -1) {
            error = ngx_socket_errno;
        }
        if (error != 0) {
            fail("could not connect", error, Pause::growing);
            return;
        }
        on_connected();
        return;
    }
    flush();
}

void RedisLink::flush() noexcept
{
    if (state_ != State::greeting && state_ != State::ready) {
        return;
    }

    const bool ready = state_ == State::ready;
    for (;;) {
        const std::string_view bytes =
            ready ? pipeline_.unsent() : std::string_view(greeting_);
        if (bytes.empty()) {
            break;
        }
        const ssize_t n = connection_->send(
            connection_,
            reinterpret_cast<u_char*>(const_cast<char*>(bytes.data())),
            bytes.size());
        if (n == NGX_ERROR) {
            fail("connection lost", ngx_socket_errno, Pause::none);
            return;
        }
        if (n == NGX_AGAIN) {
            break;
        }
        if (ready) {
            pipeline_.sent(static_cast<std::size_t>(n));
        } else {
            greeting_.erase(0, static_cast<std::size_t>(n));
        }
    }
    if (ngx_handle_write_event(connection_->write, 0) != NGX_OK) {
        fail("event error", 0, Pause::growing);
    }
}

void RedisLink::on_readable() noexcept
{
    if (connection_->close) {  // nginx closes idle connections to quit
        disconnect();
        pipeline_.fail();
        return;
    }
    if (state_ == State::connecting) {
        return;  // the write event tells how it went
    }

    for (;;) {
        const ssize_t n = connection_->recv(
            connection_, reinterpret_cast<u_char*>(in_.data()), in_.size());
        if (n == NGX_AGAIN) {
            break;
        }
        if (n == 0 || n == NGX_ERROR) {
            if (state_ == State::ready && pipeline_.empty()) {
                disconnect();  // nothing was lost; the next command reconnects
                pipeline_.fail();
                return;
            }
            fail("connection lost", n == 0 ? 0 : ngx_socket_errno,
                 state_ == State::ready ? Pause::none : Pause::growing);
            return;
        }

        const char* const trouble = guarded(log_.log(), kOutOfMemory, [&] {
            return take({in_.data(), static_cast<std::size_t>(n)});
        });
        if (trouble != nullptr) {
            fail(trouble, 0, Pause::growing);
            return;
        }
    }

    if (ngx_handle_read_event(connection_->read, 0) != NGX_OK) {
        fail("event error", 0, Pause::growing);
        return;
    }
    mark_idle();
}

// Returns why the connection has to end, nullptr if it need not. Nothing here
// closes it: its decoder is in use.
const char* RedisLink::take(std::string_view bytes)
{
    if (!decoder_->feed(bytes)) {
        return kProtocolError;
    }
    for (;;) {
        const resp::Reply* reply = nullptr;
        const auto state = decoder_->next(reply);
        if (state == resp::Decoder::State::incomplete) {
            return nullptr;
        }
        if (state == resp::Decoder::State::broken) {
            return kProtocolError;
        }
        const char* const trouble = dispatch(*reply);
        if (trouble != nullptr) {
            return trouble;
        }
    }
}

const char* RedisLink::dispatch(const resp::Reply& reply) noexcept
{
    if (state_ == State::greeting) {
        return greeting_reply(reply);
    }
    if (!pipeline_.expects_reply()) {
        return kProtocolError;
    }
    // A server that greets is not yet one that answers: only the first reply to
    // a command ends an outage, for the log and for the pauses.
    if (failures_ > 0) {
        log_.recovered(greeted_at_ - lost_at_);
        failures_ = 0;
    }
    if (reply.is_error()
        && store::redis_error(reply.error_code()).operator_fault) {
        log_.error_reply(reply);
    }
    // Taken out first: the handler may well send the next command.
    pipeline_.pop()->on_reply(reply);
    return nullptr;
}

const char* RedisLink::greeting_reply(const resp::Reply& reply) noexcept
{
    if (greeting_left_ == 0) {
        return kProtocolError;
    }
    if (reply.is_error()) {
        return with_code("refused with", reply);
    }
    if (--greeting_left_ > 0) {
        return nullptr;
    }

    state_ = State::ready;
    greeted_at_ = ngx_current_msec;
    breaker_open_ = false;
    turn_end_.request();
    return nullptr;
}

const char* RedisLink::with_code(const char* words,
                                 const resp::Reply& error) noexcept
{
    auto* text = reinterpret_cast<u_char*>(reason_.data());
    *ngx_snprintf(text, reason_.size() - 1, "%s %s", words,
                  ErrorCode(error).text()) = '\0';
    return reason_.data();
}

void RedisLink::on_deadline() noexcept
{
    if (state_ == State::connecting || state_ == State::greeting) {
        fail("connect timed out", 0, Pause::growing);
        return;
    }
    if (pipeline_.empty()) {
        return;  // armed again with the next command
    }
    if (reached(pipeline_.deadline())) {
        fail("timed out", 0, Pause::growing);
        return;
    }
    deadline_.start(pipeline_.deadline() - ngx_current_msec);
}

void RedisLink::probe() noexcept
{
    if (state_ == State::closed) {
        connect();
    }
}

void RedisLink::fail(const char* reason, ngx_err_t error, Pause pause) noexcept
{
    log_.failed(reason, error);
    if (failures_++ == 0) {
        lost_at_ = ngx_current_msec;
    }
    disconnect();
    address_ = (address_ + 1) % settings_.addresses.size();

    // A connection that was good until now gets one try at once, its commands
    // waiting for it; after that they fail fast until a probe gets through.
    if (pause == Pause::growing || failures_ > 1) {
        breaker_open_ = true;
        if (!ngx_exiting && !ngx_terminate) {
            const unsigned doublings = std::min(failures_ - 1, 4u);
            probe_.start(
                jittered(std::min(kFirstPause << doublings, kLongestPause)));
        }
    }
    pipeline_.fail();
}

void RedisLink::disconnect() noexcept
{
    deadline_.stop();
    probe_.stop();
    if (connection_ != nullptr) {
        ngx_close_connection(connection_);
        connection_ = nullptr;
        ++session_;
    }
    state_ = State::closed;
    greeting_.clear();
    greeting_left_ = 0;
}

void RedisLink::mark_idle() noexcept
{
    connection_->idle = state_ == State::ready && pipeline_.empty() ? 1 : 0;
}

}  // namespace petstore::ngx
