#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "../api/json.h"
#include "../api/router.h"
#include "../store/failure.h"
#include "../store/limit_queue.h"
#include "../store/reader.h"
#include "body_reader.h"
#include "guard.h"
#include "response.h"
#include "worker.h"

namespace petstore::ngx {

// One request on its way through the service:
//
//     authenticate → limit → act
//
// What waits for Redis points to it, never to the request itself: nginx may
// free a request at any time (the client is gone, the worker terminates), and
// then calls detach(). The exchange itself goes when it has neither a request
// nor anything to wait for. It owns itself.
class Exchange final : public store::KeyWaiter,
                       public store::LimitWaiter,
                       public store::ReadWaiter {
public:
    // The content handler: runs the steps until one has to wait.
    static ngx_int_t handle(ngx_http_request_t* r);

private:
    Exchange(ngx_http_request_t* r, RequestInfo& info, Store& store);
    ~Exchange() = default;

    // --- the steps: exchange.cpp -------------------------------------------
    void authenticate();
    void load_key();
    void on_key(const store::KeyResult& result) noexcept override;
    void refresh_key(std::int64_t epoch);
    void forget_key();
    enum class Record { remembered, fresh };  // fresh: read in this very turn
    void limit(Record record);
    bool deny_from_memory();
    void on_limit_sent() noexcept override;
    void on_limit(const store::Limiter::Answer& answer,
                  std::int64_t index) noexcept override;
    void on_limit_error(const resp::Reply& error) noexcept override;
    void on_limit_loss(store::Loss loss) noexcept override;
    template <typename Body>
    void proceed(Body&& body) noexcept;
    void take_answer(const store::Limiter::Answer& answer, std::int64_t index);
    void settle(const api::Decision& decision);
    void strike(const api::Decision& decision);
    void send_strike(bool eval);
    void on_strike(const resp::Reply& reply);
    void on_strike_lost(store::Loss loss);
    void deny(const api::Decision& decision);
    void act();
    void log_damage(const resp::Reply& error) noexcept;

    // --- what is done when admitted: operations.cpp ------------------------
    void prepare_read();
    bool is_gone() const noexcept;
    void read();
    void on_read(const store::ReadResult& result) noexcept override;
    void send_answer(std::shared_ptr<const store::Answer> answer);
    void create();
    void on_body(BodyReader::Result result);
    void send_create(bool eval);
    void on_created(const resp::Reply& reply);

    // --- answers and life: exchange_life.cpp -------------------------------
    void respond(ngx_int_t status, std::string_view body);
    void respond(const api::Error& error);
    void refuse_key(api::ErrorCode code);
    void answer_options();
    void discard_body();
    void use_last_rate() noexcept;

    // The reply to a command of this exchange's own.
    using OnReply = void (Exchange::*)(const resp::Reply&);
    class Slot final : public store::ReplyHandler {
    public:
        Slot(Exchange& owner, OnReply on_reply, bool write)
            : owner_(owner), on_reply_(on_reply), write_(write)
        {}
        void on_reply(const resp::Reply& reply) noexcept override;
        void on_loss(store::Loss loss) noexcept override;

    private:
        Exchange& owner_;
        OnReply on_reply_;
        bool write_;  // losing its reply leaves the outcome open
    };

    // Keeps the exchange until the end of a scope, whatever happens in it.
    class Hold {
    public:
        explicit Hold(Exchange& exchange) noexcept : exchange_(exchange)
        {
            ++exchange_.depth_;
        }
        ~Hold();
        Hold(const Hold&) = delete;

    private:
        Exchange& exchange_;
    };

    // Everything that is waited for calls back exactly once, even if it fails
    // at once; so a wait is counted before, and nothing between may throw.
    void wait_for_redis() noexcept;
    void send(const resp::Command& command, Slot& slot) noexcept;
    template <typename Body>
    void deliver(Body&& body) noexcept;
    template <typename Body>
    void enter(Body&& body) noexcept;
    bool suspend();
    void finish(ngx_int_t rc);
    void detach() noexcept;
    bool over() const noexcept { return finished_ || request_ == nullptr; }

    ngx_http_request_t* request_;  // nullptr once it is gone
    RequestInfo& info_;            // only while there is a request
    const LocConf& conf_;
    Store& store_;

    const api::Method method_;
    const api::Route route_;

    api::Digest digest_;  // of the API key
    std::shared_ptr<store::CachedKey> key_;
    std::int64_t epoch_ = 0;  // what the record read next is valid for
    int refreshes_ = 0;
    store::Monotonic sent_ = 0;         // when the limiter was asked
    std::vector<Exchange*> followers_;  // of the same request, wait for that
    std::int64_t strikes_reported_ = 0;
    bool strike_with_eval_ = false;

    // What a read is after, or why it cannot be; found out before the limiter
    // is asked, so that the read can leave together with its command.
    std::optional<store::ReadKey> read_key_;
    std::optional<api::Error> read_error_;
    std::optional<store::Version> version_;  // of the catalogue, by the limiter
    bool reading_ahead_ = false;

    struct Creation {
        BodyReader body;
        api::NewPet pet;
        std::optional<store::Catalogue::Idempotency> idempotency;
        bool with_eval = false;
    };
    std::unique_ptr<Creation> creation_;

    Slot strike_slot_{*this, &Exchange::on_strike, false};
    Slot create_slot_{*this, &Exchange::on_created, true};

    int waiting_ = 0;  // for so many calls from Redis's side
    int depth_ = 0;    // calls into this object under way
    bool suspended_ = false;
    bool finished_ = false;
    ngx_int_t rc_ = NGX_OK;
};

// Runs `body` with the exchange kept alive; an exception becomes a 500.
template <typename Body>
void Exchange::enter(Body&& body) noexcept
{
    const Hold hold(*this);
    // Not the request's log: `body` may free the request.
    const bool whole = guarded(ngx_cycle->log, false, [&] {
        body();
        return true;
    });
    if (!whole) {
        finish(NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
}

// Enters because something that was waited for has come. When the request is
// gone, or answered, it is dropped here.
template <typename Body>
void Exchange::deliver(Body&& body) noexcept
{
    --waiting_;
    if (over()) {
        return enter([] {});
    }
    info_.redis_time = ngx_current_msec - info_.redis_started;
    ngx_connection_t* connection = request_->connection;
    const bool from_event = depth_ == 0;
    if (from_event) {
        ngx_http_set_log_request(connection->log, request_);
    }
    enter(body);  // may delete this
    if (from_event) {
        ngx_http_run_posted_requests(connection);
    }
}

}  // namespace petstore::ngx
