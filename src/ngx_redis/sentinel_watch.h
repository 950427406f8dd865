#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "../ngx_base/ngx.h"
#include "../ngx_base/timer.h"
#include "../redis/command.h"
#include "../redis/pipeline.h"
#include "../redis/sentinel.h"
#include "connection.h"
#include "dialer.h"
#include "node_log.h"
#include "node_settings.h"

namespace petstore::ngx_redis {

// Finds the primary that a worker's nodes use, and detects when the Sentinels
// replace it. Connects to one Sentinel at a time: asks for the address and
// subscribes to failover messages in one write, and checks every second that
// the Sentinel still answers. If it fails in any way, asks the next one.
//
// A Sentinel that was told to monitor another primary sends no such message,
// and messages can be lost. So the same Sentinel is asked again every ten
// seconds, over a new connection, because one with a subscription takes no
// question.
//
// After an address that did not work, the next Sentinel is asked. So a Sentinel
// that is wrong, or does not know of a failover yet, delays one attempt to
// connect but does not determine the next. So does a run ID that is not the
// server's, which a Sentinel notices within 10 seconds of a restart.
class SentinelWatch final : private Connection::Listener, private Dialer::User {
public:
    // A node that uses the primary.
    class Follower {
    public:
        // One of these answers ask().
        virtual void
        on_primary(const redis::ServerAddress& primary) noexcept = 0;
        virtual void on_no_primary() noexcept = 0;  // already logged

        // There is another primary, which ask() returns. Not called while ask()
        // is pending.
        virtual void on_switch() noexcept = 0;

    protected:
        ~Follower() = default;

    private:
        friend class SentinelWatch;
        std::uint64_t answer_ = 0;  // number of the last answer; 0 for none
        bool waiting_ = false;
    };

    // `settings` must outlive this object.
    SentinelWatch(const SentinelSettings& settings, const ngx_log_t& log);
    ~SentinelWatch();
    SentinelWatch(const SentinelWatch&) = delete;

    // Borrows the follower. Throws std::bad_alloc.
    void add(Follower& follower) { followers_.push_back(&follower); }

    // May answer before it returns. A follower asks before each attempt to
    // connect.
    void ask(Follower& follower) noexcept;
    void cancel(Follower& follower) noexcept { follower.waiting_ = false; }

private:
    using Failure = Connection::Failure;

    enum class State {
        idle,         // until the next attempt
        asking,       // in a round: each address of each Sentinel once
        subscribing,  // the address is known; until the Sentinel confirms
        subscribed,
        polling,  // the Sentinel forbids SUBSCRIBE
    };

    bool is_awaited() const noexcept;
    void start_round() noexcept;
    void retry() noexcept;
    void hang_up() noexcept;
    void remember(const Failure& failure) noexcept;

    void on_trying() noexcept override;
    void on_no_address(const char* reason) noexcept override;
    void on_none_left() noexcept override;

    void on_connected() noexcept override { event_.post(); }
    Failure on_identity(const redis::Reply& reply) noexcept override;
    Failure on_handshake_done(const redis::Reply& last) noexcept override;
    Failure on_reply(const redis::Reply& reply) noexcept override;
    Failure on_unrequested(const redis::Reply& reply) noexcept override;
    void on_idle_close() noexcept override;
    void on_failure(const Failure& failure) noexcept override;

    Failure take_answer(const redis::Reply& reply) noexcept;
    Failure take_message(const redis::Reply& reply) noexcept;
    void listen() noexcept;
    void check() noexcept;
    void on_event() noexcept;

    const SentinelSettings& settings_;
    const redis::Command request_;
    const redis::Command record_request_;
    const redis::Command subscription_;
    const redis::Command ping_;
    NodeLog log_;
    std::vector<Follower*> followers_;

    State state_ = State::idle;
    redis::Pipeline pipeline_;
    Connection connection_;
    Dialer dialer_;

    std::optional<redis::ServerAddress> record_;  // of this Sentinel
    redis::KnownPrimary primary_;
    ngx_msec_t answered_at_ = 0;  // when this Sentinel named it

    unsigned failures_ = 0;              // consecutive
    std::optional<ngx_msec_t> lost_at_;  // while no Sentinel is usable
    ngx_err_t error_ = 0;                // of the last failure
    char reason_[160];

    ngx_base::Timer<SentinelWatch, &SentinelWatch::check> check_;
    ngx_base::Timer<SentinelWatch, &SentinelWatch::start_round> retry_;
    ngx_base::PostedEvent<SentinelWatch, &SentinelWatch::on_event> event_;
};

}  // namespace petstore::ngx_redis
