#include "node.h"

#include <chrono>
#include <utility>

#include "../redis/backoff.h"

namespace petstore::ngx_redis {

namespace {

using Cause = metrics::FailureCause;
using Retry = redis::Breaker::Retry;

constexpr char kTimedOut[] = "timed out";

// Reads a monotonic clock, because nginx's clocks are too coarse to time a
// command.
std::uint64_t microseconds() noexcept
{
    using std::chrono::duration_cast;
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        duration_cast<std::chrono::microseconds>(now).count());
}

}  // namespace

Node::Node(const NodeSettings& settings, std::unique_ptr<AddressSource> source,
           redis::Scheduler& scheduler, metrics::RedisMeter meter,
           const ngx_log_t& log)
    : settings_(settings), scheduler_(scheduler), meter_(meter),
      counted_(meter.links), log_(settings.name, log),
      connection_(settings.tls, pipeline_, *this, log_),
      dialer_(connection_, *this, settings.connect_timeout,
              Dialer::TimeoutFor::server),
      server_(settings, *source, breaker_, meter_, log_),
      idle_(*this, settings, pipeline_, server_, meter_, log_.log()),
      deadline_(*this, log_.log(), ngx_base::OnExit::delay),
      probe_(*this, log_.log(), ngx_base::OnExit::cancel)
{
    dialer_.add({std::move(source), &settings.endpoint, {}});
}

void Node::close() noexcept
{
    disconnect();
    breaker_.open();
    pipeline_.fail();
}

void Node::send(const redis::Command& command,
                redis::ReplyHandler& handler) noexcept
{
    if (breaker_.is_open()) {
        handler.on_no_reply(redis::NoReply::not_sent);
        return;
    }
    if (pipeline_.full()) {
        meter_.redis.rejections.add();
        log_.refused();
        schedule_flush();
        handler.on_no_reply(redis::NoReply::not_sent);
        return;
    }
    // Ask before the command: a response from memory, which waits for the reply
    // to the command, must not rely on an outdated role.
    const bool held = idle_.holding();
    if ((connection_.is_ready() && !idle_.prepare())
        || !pipeline_.add(command, &handler,
                          ngx_current_msec + settings_.timeout,
                          microseconds())) {
        handler.on_no_reply(redis::NoReply::not_sent);
        return;
    }
    if (idle_.holding() != held) {
        deadline_.stop();  // there is an earlier one
    }
    meter_.redis.commands.add();
    if (connection_.is_open()) {
        connection_.set_busy();
    }
    if (dialer_.is_busy() && !deadline_.running()) {
        restart_deadline();
    }
    // Not connect(): if it failed at once, it would fail commands of other
    // requests, which must not end within a handler of this one.
    schedule_flush();
}

void Node::warm_up() noexcept
{
    if (!dialer_.is_busy() && !breaker_.is_open()) {
        connect();
    }
}

void Node::schedule_flush() noexcept
{
    if (!flush_scheduled_) {
        flush_scheduled_ = true;
        scheduler_.schedule(*this, redis::Scheduler::Stage::write);
    }
}

// The write task of an event-loop iteration.
void Node::run() noexcept
{
    flush_scheduled_ = false;
    log_.report_refused();
    if (connection_.is_open()) {
        connection_.flush();
    } else if (!pipeline_.empty() && !dialer_.is_finding()) {
        connect();
    }
}

// Starts an attempt to connect: tries all addresses until one belongs to a
// primary.
void Node::connect() noexcept
{
    dialer_.start({&idle_.role_request(), server_.identity_request()});
    if (dialer_.is_finding()) {
        restart_deadline();  // for the commands that wait to connect
    }
}

void Node::on_no_address(const char* reason) noexcept
{
    on_failure(Connection::failure(Cause::resolve, reason));
}

// Not counted as a failure: the old server may still work.
void Node::on_moved() noexcept
{
    const bool was_ready = connection_.is_ready();
    dialer_.prefer_current_address();
    disconnect();
    if (was_ready) {
        pipeline_.fail_written();
    }
    connect();
}

void Node::disconnect() noexcept
{
    deadline_.stop();
    probe_.stop();
    idle_.end();
    if (connection_.is_open()) {
        server_.connection_lost();
    }
    dialer_.close();
}

Connection::Failure Node::on_identity(const redis::Reply& reply) noexcept
{
    return server_.take_identity(reply);
}

void Node::check_identity() noexcept
{
    if (connection_.is_ready() && server_.is_other()) {
        on_moved();
    }
}

void Node::on_connected() noexcept
{
    server_.role().begin(ngx_current_msec);
    schedule_flush();
}

Connection::Failure Node::on_handshake_done(const redis::Reply& role) noexcept
{
    const Failure failure = server_.take_first_role(role);
    pipeline_.set_replication_id(server_.role().id(ngx_current_msec));
    if (failure.reason == nullptr) {
        breaker_.connected(ngx_current_msec);
        counted_.set_down(false);
        idle_.begin();
        restart_deadline();
        schedule_flush();
    }
    return failure;
}

Connection::Failure Node::on_reply(const redis::Reply& reply) noexcept
{
    const std::uint64_t added = pipeline_.added();
    // Removed first: the handler may send the next command.
    redis::ReplyHandler* const handler = pipeline_.pop();
    if (pipeline_.empty() && ngx_base::is_quitting()) {
        deadline_.stop();  // it would delay the exit
    }
    if (idle_.heard()) {
        schedule_flush();
    }
    if (handler == nullptr) {
        return idle_.take_check_reply(reply);
    }
    meter_.duration.add(microseconds() - added);
    if (const auto outage = breaker_.on_reply(reply, ngx_current_msec)) {
        log_.recovered(*outage);
    }
    const Failure failure =
        reply.is_error() ? server_.take_error(reply, *handler) : Failure{};
    handler->on_reply(reply);
    return failure;
}

void Node::on_deadline() noexcept
{
    if (idle_.holding() && ngx_base::time_left(idle_.hold_until()) == 0) {
        on_idle_loss("did not answer");
    } else if (pipeline_.empty()
               || ngx_base::time_left(pipeline_.deadline()) > 0) {
        restart_deadline();
    } else if (connection_.is_ready()) {
        on_failure(Connection::failure(Cause::timeout, kTimedOut));
    } else {
        // The attempt to connect continues, but no command waits for it.
        report_failure(Connection::failure(Cause::timeout, kTimedOut));
        breaker_.failed(Retry::after_backoff, ngx_current_msec);
        counted_.set_down(breaker_.is_open());
        if (connection_.is_open()) {
            connection_.set_idle();
        }
        pipeline_.fail();
    }
}

// If there is no command, the next one starts the timer.
void Node::restart_deadline() noexcept
{
    deadline_.stop();
    if (!pipeline_.empty() && !idle_.has_only_check()) {
        const ngx_msec_t deadline =
            idle_.holding() ? idle_.hold_until() : pipeline_.deadline();
        deadline_.start(ngx_base::time_left(deadline));
    }
}

void Node::on_idle_close() noexcept
{
    dialer_.prefer_current_address();
    disconnect();  // the next command reconnects
    pipeline_.fail();
    if (breaker_.is_open()) {
        // An attempt that nginx ended because the worker quits. Requests may
        // still follow.
        probe_.start(redis::Backoff::kFirst);
    }
}

// The connection was lost while no command was written. Those that wait for it
// wait for the next one.
void Node::on_idle_loss(const char* how) noexcept
{
    log_.idle_loss(how);
    dialer_.prefer_current_address();
    disconnect();
    pipeline_.fail_written();  // the check
    if (!pipeline_.empty()) {
        connect();
    }
}

// nullptr if the configuration allows only one address.
const char* Node::address_text() const noexcept
{
    return dialer_.has_several_addresses() || settings_.sentinels
               ? dialer_.address_text()
               : nullptr;
}

void Node::report_failure(const Failure& failure) noexcept
{
    meter_.redis.add(failure.cause);
    if (failure.reason == nullptr) {
        return;  // the source has logged it
    }
    log_.failed(failure.reason, failure.error, address_text(), failure.cause);
}

void Node::on_failure(const Failure& failure) noexcept
{
    const bool was_ready = connection_.is_ready();
    if (was_ready && failure.cause == Cause::closed && idle_.may_replace()) {
        on_idle_loss("was lost");
        return;
    }
    disconnect();

    // No command was written yet, so all of them can wait for the next address.
    if (!was_ready && dialer_.has_next()) {
        log_.trying_next(failure.reason, failure.error, address_text());
        dialer_.next();
        return;
    }

    report_failure(failure);
    const bool back_off = breaker_.failed(failure.retry, ngx_current_msec);
    counted_.set_down(breaker_.is_open());
    if (back_off) {
        probe_.start(redis::Backoff::delay(
            breaker_.failures(), static_cast<std::uint64_t>(ngx_random())));
    }
    pipeline_.fail();
}

}  // namespace petstore::ngx_redis
