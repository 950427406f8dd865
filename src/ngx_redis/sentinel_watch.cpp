#include "sentinel_watch.h"

#include <algorithm>
#include <utility>

#include "../ngx_base/exception_border.h"
#include "../redis/backoff.h"

namespace petstore::ngx_redis {

namespace {

using Failure = Connection::Failure;

// Bounds how long a hung Sentinel goes unnoticed.
constexpr ngx_msec_t kCheckEvery = 1000;

// Bounds how long another primary that no message announced goes unnoticed.
constexpr ngx_msec_t kAskEvery = 10'000;

// The timeout per address and lookup, short enough that a node's attempt to
// connect outlasts two hung Sentinels.
ngx_msec_t share_of(ngx_msec_t connect_timeout) noexcept
{
    return std::max<ngx_msec_t>(connect_timeout / 3, 1);
}

}  // namespace

SentinelWatch::SentinelWatch(const SentinelSettings& settings,
                             const ngx_log_t& log)
    : settings_(settings),
      request_(redis::primary_address_request(settings.primary_name)),
      record_request_(redis::primary_record_request(settings.primary_name)),
      subscription_(redis::switch_subscription()), ping_("PING"),
      log_(settings.name, log),
      connection_(settings.tls, pipeline_, *this, log_),
      dialer_(connection_, *this, share_of(settings.connect_timeout),
              Dialer::TimeoutFor::address),
      check_(*this, log_.log(), ngx_base::OnExit::cancel),
      retry_(*this, log_.log(), ngx_base::OnExit::cancel),
      event_(*this, log_.log())
{
    for (const auto& sentinel : settings.sentinels) {
        dialer_.add(
            {host_addresses(sentinel.host, log_.log()), &sentinel.login, {}});
    }
}

SentinelWatch::~SentinelWatch()
{
    hang_up();
}

void SentinelWatch::ask(Follower& follower) noexcept
{
    const bool talking = state_ != State::idle && state_ != State::asking;
    if (talking && follower.answer_ != primary_.answers()) {
        follower.answer_ = primary_.answers();
        follower.on_primary(primary_.address());
        return;
    }
    follower.waiting_ = true;
    if (state_ != State::asking) {
        start_round();
    } else if (connection_.is_open()) {
        connection_.set_busy();
    }
}

void SentinelWatch::start_round() noexcept
{
    hang_up();
    state_ = State::asking;
    dialer_.start({&request_, &record_request_, &subscription_});
}

void SentinelWatch::hang_up() noexcept
{
    check_.stop();
    retry_.stop();
    dialer_.close();
    pipeline_.fail();
    state_ = State::idle;
}

void SentinelWatch::on_no_address(const char* reason) noexcept
{
    remember({reason});
    dialer_.next();
}

bool SentinelWatch::is_awaited() const noexcept
{
    return std::any_of(
        followers_.begin(), followers_.end(),
        [](const Follower* follower) { return follower->waiting_; });
}

void SentinelWatch::on_trying() noexcept
{
    if (is_awaited()) {
        connection_.set_busy();
    }
}

// Copies the reason for on_none_left(), because the next attempt may change it.
void SentinelWatch::remember(const Failure& failure) noexcept
{
    error_ = failure.error;
    *ngx_snprintf(reinterpret_cast<u_char*>(reason_), sizeof(reason_) - 1,
                  "no usable Sentinel: %s", failure.reason) = '\0';
}

void SentinelWatch::on_none_left() noexcept
{
    state_ = State::idle;
    if (!lost_at_) {
        lost_at_ = ngx_current_msec;
    }
    log_.failed(reason_, error_, dialer_.address_text());
    ++failures_;
    retry();
    for (Follower* const follower : followers_) {
        if (follower->waiting_) {
            follower->waiting_ = false;
            follower->on_no_primary();
        }
    }
}

void SentinelWatch::retry() noexcept
{
    if (!ngx_base::is_quitting()) {
        retry_.start(redis::Backoff::delay(
            failures_, static_cast<std::uint64_t>(ngx_random())));
    }
}

void SentinelWatch::on_failure(const Failure& failure) noexcept
{
    const bool asking = state_ == State::asking;
    remember(failure);
    log_.trying_next(failure.reason, failure.error, dialer_.address_text());
    hang_up();
    if (asking) {
        state_ = State::asking;
        dialer_.next();
        return;
    }
    // Try another Sentinel at once, unless connections keep failing.
    ++failures_;
    if (failures_ > 1) {
        retry();
    } else if (!ngx_base::is_quitting()) {
        start_round();
    }
}

void SentinelWatch::on_idle_close() noexcept
{
    if (ngx_base::is_quitting() && !is_awaited()) {
        hang_up();
    } else {
        on_failure({"connection lost"});
    }
}

// A Sentinel that refuses to say more than the address is as good.
Failure SentinelWatch::on_identity(const redis::Reply& reply) noexcept
{
    log_.identity_unknown("SENTINEL MASTER", reply);
    return ngx_base::guarded(log_.log(), Failure{"out of memory"},
                             [&]() -> Failure {
                                 record_ = redis::parse_primary_record(reply);
                                 return {};
                             });
}

Failure SentinelWatch::on_handshake_done(const redis::Reply& last) noexcept
{
    const Failure failure = take_answer(last);
    if (failure.reason != nullptr) {
        return failure;
    }
    if (lost_at_) {
        log_.sentinel_back(ngx_current_msec - *lost_at_);
        lost_at_.reset();
    }
    state_ = State::subscribing;
    answered_at_ = ngx_current_msec;
    check_.start(settings_.timeout);
    return {};
}

Failure SentinelWatch::on_reply(const redis::Reply& reply) noexcept
{
    if (state_ != State::polling) {
        return take_message(reply);
    }
    pipeline_.pop();
    failures_ = 0;
    listen();
    return take_answer(reply);
}

Failure SentinelWatch::on_unrequested(const redis::Reply& reply) noexcept
{
    return state_ == State::polling ? Connection::protocol_error()
                                    : take_message(reply);
}

Failure SentinelWatch::take_answer(const redis::Reply& reply) noexcept
{
    using Result = redis::PrimaryAddress::Result;
    return ngx_base::guarded(
        log_.log(), Failure{"out of memory"}, [&]() -> Failure {
            auto answer = redis::parse_primary_address(reply);
            switch (answer.result) {
            case Result::found:
                if (record_ && *record_ == answer.address) {
                    answer.address.id = record_->id;
                }
                record_.reset();  // outdated at the next answer
                // Unasked, the same address would only keep a follower that
                // it does not work for from asking the next Sentinel.
                if (is_awaited() || primary_.is_news(answer.address)) {
                    primary_.take(std::move(answer.address));
                }
                event_.post();
                return {};
            case Result::unknown_name:
                return {"does not monitor this primary"};
            case Result::refused:
                return {log_.reason("refused with", reply)};
            case Result::invalid:
                break;
            }
            return Connection::protocol_error();
        });
}

Failure SentinelWatch::take_message(const redis::Reply& reply) noexcept
{
    using Kind = redis::SentinelMessage::Kind;
    return ngx_base::guarded(
        log_.log(), Failure{"out of memory"}, [&]() -> Failure {
            auto message =
                redis::parse_sentinel_message(reply, settings_.primary_name);
            switch (message.kind) {
            case Kind::subscribed:
                if (state_ != State::subscribing) {
                    break;
                }
                state_ = State::subscribed;
                listen();
                return {};
            case Kind::pong:
                if (!pipeline_.expects_reply()) {
                    break;
                }
                pipeline_.pop();
                failures_ = 0;
                listen();
                return {};
            case Kind::refused:
                if (state_ != State::subscribing) {
                    return {log_.reason("refused with", reply)};
                }
                log_.cannot_subscribe(reply);
                state_ = State::polling;
                listen();
                return {};
            case Kind::switched:
                if (!primary_.take_switch(std::move(message.address),
                                          ngx_current_msec)) {
                    return {"reports too many failovers"};
                }
                event_.post();
                return {};
            case Kind::other:
                return {};
            case Kind::invalid:
                break;
            }
            return Connection::protocol_error();
        });
}

// Waits for messages. check() then tests whether the Sentinel still answers.
void SentinelWatch::listen() noexcept
{
    check_.stop();
    check_.start(kCheckEvery);
}

void SentinelWatch::check() noexcept
{
    if (ngx_base::is_quitting()) {
        hang_up();
        return;
    }
    if (!pipeline_.empty() || state_ == State::subscribing) {
        on_failure({"timed out"});
        return;
    }
    if (state_ == State::subscribed
        && ngx_current_msec - answered_at_ >= kAskEvery) {
        dialer_.prefer_current_server();
        start_round();
        return;
    }
    if (!pipeline_.add(state_ == State::polling ? request_ : ping_, nullptr,
                       ngx_current_msec)) {
        on_failure({"out of memory"});
        return;
    }
    check_.start(settings_.timeout);
    event_.post();
}

// Posted, not called while a reply is decoded, because followers may make this
// object close the connection.
void SentinelWatch::on_event() noexcept
{
    if (connection_.is_open()) {
        connection_.flush();
    }
    if (state_ == State::asking || primary_.answers() == 0) {
        return;
    }
    const bool switched = primary_.has_changed();
    if (switched) {
        log_.moved(primary_.address());
    }
    for (Follower* const follower : followers_) {
        if (follower->waiting_) {
            follower->waiting_ = false;
            follower->answer_ = primary_.answers();
            follower->on_primary(primary_.address());
        } else if (switched && follower->answer_ != 0) {
            follower->on_switch();
        }
    }
    if (ngx_base::is_quitting() && !is_awaited()) {
        hang_up();
    }
}

}  // namespace petstore::ngx_redis
