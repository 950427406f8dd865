#include "redis_link.h"

#include <algorithm>
#include <utility>

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

// A replica answers reads. So after one has refused a write, a connection has
// to last this long before a reply counts as the end of the outage.
constexpr ngx_msec_t kProbation = 1000;

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
    : settings_(settings), check_(store::info_replication()),
      log_(settings.name, log), connect_log_(*log_.log()), in_(kReceiveBuffer),
      turn_end_(*this, log_.log()), deadline_(*this, log_.log(), false),
      probe_(*this, log_.log(), true)
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
    // Ahead of the command, so that an answer from memory, which waits for the
    // reply to the command, never goes by an older role.
    if ((state_ == State::ready && role_.due(ngx_current_msec) && !send_check())
        || !pipeline_.add(command, &handler,
                          ngx_current_msec + settings_.timeout)) {
        handler.on_loss(store::Loss::not_sent);
        return;
    }
    if (state_ == State::closed) {
        connect();
    } else {
        await_reply();
    }
}

void RedisLink::await_reply() noexcept
{
    connection_->idle = 0;
    if (!deadline_.running()) {
        deadline_.start(settings_.timeout);
    }
    turn_end_.request();
}

// False for want of memory.
bool RedisLink::send_check() noexcept
{
    if (!pipeline_.add(check_, nullptr, ngx_current_msec + settings_.timeout)) {
        return false;
    }
    role_.asked(ngx_current_msec);
    await_reply();
    return true;
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

// An attempt: all addresses, until one is a primary's.
void RedisLink::connect() noexcept
{
    untried_ = settings_.addresses.size();
    connect_by_ = ngx_current_msec + settings_.connect_timeout;
    try_address();
}

void RedisLink::try_address() noexcept
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

    state_ = State::connecting;
    const ngx_int_t rc = ngx_event_connect_peer(&peer);
    if (rc != NGX_OK && rc != NGX_AGAIN) {
        fail({"could not connect"}, ngx_socket_errno);
        return;
    }

    connection_ = peer.connection;
    connection_->data = this;
    connection_->log = log_.log();
    connection_->read->log = log_.log();
    connection_->write->log = log_.log();
    connection_->read->handler = read_handler;
    connection_->write->handler = write_handler;

    if (deadline_.running()) {
        deadline_.stop();
    }
    deadline_.start(connect_by_ - ngx_current_msec);

    if (rc == NGX_OK) {
        on_connected();
    }
}

void RedisLink::on_connected() noexcept
{
    const bool ready = guarded(log_.log(), false, [this] {
        decoder_ = std::make_unique<resp::Decoder>();
        handshake_.begin(settings_.endpoint);
        return true;
    });
    if (!ready) {
        fail({kOutOfMemory});
        return;
    }
    if (!settings_.endpoint.is_unix()) {
        (void)ngx_tcp_nodelay(connection_);
    }
    role_.begin(ngx_current_msec);
    state_ = State::greeting;
    turn_end_.request();
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
            fail({"could not connect"}, error);
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
            ready ? pipeline_.unsent() : handshake_.unsent();
        if (bytes.empty()) {
            break;
        }
        const ssize_t n = connection_->send(
            connection_,
            reinterpret_cast<u_char*>(const_cast<char*>(bytes.data())),
            bytes.size());
        if (n == NGX_ERROR) {
            fail({"connection lost", Pause::none}, ngx_socket_errno);
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
    if (ngx_handle_write_event(connection_->write, 0) != NGX_OK) {
        fail({"event error"});
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
            fail({"connection lost",
                  state_ == State::ready ? Pause::none : Pause::growing},
                 n == 0 ? 0 : ngx_socket_errno);
            return;
        }

        const Trouble trouble = guarded(log_.log(), Trouble{kOutOfMemory}, [&] {
            return take({in_.data(), static_cast<std::size_t>(n)});
        });
        if (trouble.reason != nullptr) {
            fail(trouble);
            return;
        }
    }

    if (ngx_handle_read_event(connection_->read, 0) != NGX_OK) {
        fail({"event error"});
        return;
    }
    connection_->idle = state_ == State::ready && pipeline_.empty() ? 1 : 0;
}

// Nothing here closes the connection: its decoder is in use.
RedisLink::Trouble RedisLink::take(std::string_view bytes)
{
    if (!decoder_->feed(bytes)) {
        return {kProtocolError};
    }
    for (;;) {
        const resp::Reply* reply = nullptr;
        const auto state = decoder_->next(reply);
        if (state == resp::Decoder::State::incomplete) {
            return {};
        }
        if (state == resp::Decoder::State::broken) {
            return {kProtocolError};
        }
        const Trouble trouble = dispatch(*reply);
        if (trouble.reason != nullptr) {
            return trouble;
        }
    }
}

RedisLink::Trouble RedisLink::dispatch(const resp::Reply& reply) noexcept
{
    if (state_ == State::greeting) {
        return greeting_reply(reply);
    }
    if (!pipeline_.expects_reply()) {
        return {kProtocolError};
    }
    // Taken out first: the handler may well send the next command.
    store::ReplyHandler* const handler = pipeline_.pop();
    if (handler == nullptr) {
        return take_role(reply);
    }
    if (failures_ > 0 && shows_recovery(reply)) {
        log_.recovered(greeted_at_ - lost_at_);
        failures_ = 0;
        refused_write_ = false;
    }
    const Trouble trouble = reply.is_error() ? examine_error(reply) : Trouble{};
    handler->on_reply(reply);
    return trouble;
}

RedisLink::Trouble RedisLink::greeting_reply(const resp::Reply& reply) noexcept
{
    switch (handshake_.take(reply)) {
    case store::Handshake::Step::accepted:
        return {};
    case store::Handshake::Step::refused:
        return {log_.reason("refused with", reply)};
    case store::Handshake::Step::unexpected:
        return {kProtocolError};
    case store::Handshake::Step::role:
        break;
    }
    const Trouble trouble = take_role(reply);
    if (trouble.reason != nullptr) {
        return trouble;
    }
    state_ = State::ready;
    greeted_at_ = ngx_current_msec;
    breaker_open_ = false;
    watch_deadline();
    turn_end_.request();
    return {};
}

RedisLink::Trouble RedisLink::take_role(const resp::Reply& reply) noexcept
{
    using Finding = store::RoleWatch::Finding;
    const bool greeting = state_ == State::greeting;
    switch (role_.take(reply, ngx_current_msec)) {
    case Finding::primary:
        break;
    case Finding::other_history:
        if (!greeting) {
            ++session_;
            log_.history_changed();
        }
        break;
    case Finding::replica:
        return {"is a replica", greeting ? Pause::growing : Pause::none, true};
    case Finding::unanswered:
        return greeting ? Trouble{log_.reason("refused with", reply)}
                        : Trouble{};
    case Finding::unknown:
        log_.role_unknown(reply);
        break;
    }
    return {};
}

RedisLink::Trouble RedisLink::examine_error(const resp::Reply& error) noexcept
{
    const auto& row = store::redis_error(error.error_code());
    if (row.replica) {
        refused_write_ = true;
        return {log_.reason("is a replica, answered with", error), Pause::none,
                true};
    }
    if (row.operator_fault) {
        log_.error_reply(error);
    }
    return {};
}

// A server that greets is not yet one that works: only a reply to a command
// ends an outage, for the log and for the pauses, and only one that a server
// out of order would not give.
bool RedisLink::shows_recovery(const resp::Reply& reply) const noexcept
{
    if (refused_write_ && ngx_current_msec - greeted_at_ < kProbation) {
        return false;
    }
    return !reply.is_error()
           || store::redis_error(reply.error_code()).retry_with_eval;
}

void RedisLink::on_deadline() noexcept
{
    if (state_ == State::connecting || state_ == State::greeting) {
        fail({"connect timed out"});
        return;
    }
    if (!pipeline_.empty() && reached(pipeline_.deadline())) {
        fail({"timed out"});
        return;
    }
    watch_deadline();
}

// That of the oldest command; without one, the next command sets the timer.
void RedisLink::watch_deadline() noexcept
{
    deadline_.stop();
    if (!pipeline_.empty()) {
        const ngx_msec_t deadline = pipeline_.deadline();
        deadline_.start(reached(deadline) ? 0 : deadline - ngx_current_msec);
    }
}

void RedisLink::probe() noexcept
{
    if (state_ == State::closed) {
        connect();
    }
}

void RedisLink::fail(const Trouble& trouble, ngx_err_t error) noexcept
{
    const bool several = settings_.addresses.size() > 1;
    const char* const address =
        several ? settings_.addresses[address_].text.c_str() : nullptr;
    const bool attempt =
        state_ == State::connecting || state_ == State::greeting;
    disconnect();
    address_ = (address_ + 1) % settings_.addresses.size();

    // No command was written yet: they wait for the next address.
    if (attempt && --untried_ > 0 && !reached(connect_by_)) {
        log_.tries_next(trouble.reason, error, address);
        try_address();
        return;
    }

    log_.failed(trouble.reason, error, address, trouble.replica);
    if (failures_++ == 0) {
        lost_at_ = ngx_current_msec;
    }

    // A connection that was good until now gets one try at once, its commands
    // waiting for it; after that they fail fast until a probe gets through.
    if (trouble.pause == Pause::growing || failures_ > 1) {
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
}

}  // namespace petstore::ngx
