#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "../api/bearer.h"
#include "../api/page.h"
#include "../api/router.h"
#include "../store/failure.h"
#include "body_reader.h"
#include "response.h"
#include "worker.h"

namespace petstore::ngx {

// One request on its way through the service:
//
//     authenticate → limit → act
//
// What a pending Redis command points to, never the request itself: nginx may
// free a request at any time (the client is gone, the worker terminates), and
// then calls detach(). The exchange itself goes when it has neither a request
// nor a reply to come. It owns itself.
class Exchange {
public:
    // The content handler: runs the steps until one has to wait.
    static ngx_int_t handle(ngx_http_request_t* r);

private:
    Exchange(ngx_http_request_t* r, RequestInfo& info, Store& store);
    ~Exchange() = default;

    // --- the steps: exchange.cpp -------------------------------------------
    void authenticate();
    void look_up_key();
    void on_key(const resp::Reply& reply);
    void limit();
    void on_verdict(const resp::Reply& reply);
    void on_strike(const resp::Reply& reply);
    bool deny_from_memory();
    void settle(const api::Decision& decision);
    void strike(const api::Decision& decision);
    void send_strike(bool eval);
    void deny(const api::Decision& decision);
    void act();

    // --- what is done when admitted: operations.cpp ------------------------
    void prepare_read();
    bool is_gone() const noexcept;
    void start_read();
    void finish_read();
    void on_data(const resp::Reply& reply);
    void on_pet(const resp::Reply& reply);
    void on_page(std::size_t index, const resp::Reply& reply);
    void send_page();
    void create();
    void on_body(BodyReader::Result result);
    void send_create(bool eval);
    void on_created(const resp::Reply& reply);

    // --- answers -------------------------------------------------------------
    void respond(ngx_int_t status, std::string_view body);
    void respond(const api::Error& error);
    void refuse_key(api::ErrorCode code);
    void answer_options();
    void use_last_rate() noexcept;

    // --- life: exchange_life.cpp -------------------------------------------
    using OnReply = void (Exchange::*)(const resp::Reply&);

    // A pending command of this exchange; several may wait in one slot, their
    // replies come in order.
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

    void send(const resp::Command& command, Slot& slot);
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

    api::Route route_;
    api::Method method_;

    api::Digest digest_{};
    std::shared_ptr<store::CachedKey> key_;
    std::string epoch_;  // what the record read next is valid for
    int refreshes_ = 0;
    bool decide_with_eval_ = false;
    bool strike_with_eval_ = false;
    std::int64_t strikes_reported_ = 0;
    store::Monotonic sent_ = 0;  // when the limiter was asked

    bool may_read_ahead_ = false;
    bool reading_ = false;  // the read was sent, or found to be an error
    bool admitted_ = false;
    std::optional<api::Error> read_error_;
    api::PetId pet_id_ = 0;
    std::string record_;
    std::optional<store::PageReader> page_;
    api::ListQuery query_;
    bool list_with_eval_ = false;
    std::size_t replies_wanted_ = 0;
    std::size_t replies_seen_ = 0;
    std::size_t long_wanted_ = 0;  // of these, for long records

    BodyReader body_;
    std::optional<api::NewPet> new_pet_;
    std::optional<store::Catalogue::Idempotency> idempotency_;
    bool create_with_eval_ = false;

    Slot key_slot_{*this, &Exchange::on_key, false};
    Slot verdict_slot_{*this, &Exchange::on_verdict, false};
    Slot strike_slot_{*this, &Exchange::on_strike, false};
    Slot data_slot_{*this, &Exchange::on_data, false};
    Slot create_slot_{*this, &Exchange::on_created, true};

    std::size_t pending_ = 0;  // commands without a reply
    int depth_ = 0;            // calls into this object under way
    bool suspended_ = false;
    bool finished_ = false;
    ngx_int_t rc_ = NGX_OK;
};

// Runs `body` with the exchange kept alive; an exception becomes a 500.
template <typename Body>
void Exchange::enter(Body&& body) noexcept
{
    ++depth_;
    try {
        body();
    } catch (const std::exception& e) {
        if (request_ != nullptr) {
            ngx_log_error(NGX_LOG_ERR, request_->connection->log, 0,
                          "petstore: %s", e.what());
        }
        finish(NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
    --depth_;
    if (request_ == nullptr && pending_ == 0 && depth_ == 0) {
        delete this;
    }
}

}  // namespace petstore::ngx
