// How an exchange begins, waits, answers and ends.
#include "exchange.h"
#include "module.h"
#include "str.h"

namespace petstore::ngx {

namespace {

api::Method method_of(const ngx_http_request_t* r) noexcept
{
    switch (r->method) {
    case NGX_HTTP_GET:
        return api::Method::get;
    case NGX_HTTP_HEAD:
        return api::Method::head;
    case NGX_HTTP_POST:
        return api::Method::post;
    case NGX_HTTP_OPTIONS:
        return api::Method::options;
    default:
        return api::Method::other;
    }
}

}  // namespace

Exchange::Exchange(ngx_http_request_t* r, RequestInfo& info, Store& store)
    : request_(r), info_(info), conf_(*loc_conf(r)), store_(store),
      method_(method_of(r)),
      route_(api::route(method_, view(r->uri), view(conf_.base_path)))
{
    info_.operation = route_.operation;
    info_.deprecated = route_.operation == api::Operation::get_pet;
}

ngx_int_t Exchange::handle(ngx_http_request_t* r)
{
    RequestInfo* info = request_info(r, true);
    ngx_http_cleanup_t* cleanup = ngx_http_cleanup_add(r, 0);
    Worker* worker = Worker::current();
    if (info == nullptr || cleanup == nullptr || worker == nullptr) {
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }

    auto* exchange = new Exchange(r, *info, worker->store(loc_conf(r)->store));
    cleanup->data = exchange;
    cleanup->handler = [](void* data) {
        static_cast<Exchange*>(data)->detach();
    };

    const Hold hold(*exchange);  // a client that left frees the request
    exchange->enter([exchange] {
        exchange->method_ == api::Method::options ? exchange->answer_options()
                                                  : exchange->authenticate();
        if (!exchange->finished_ && !exchange->suspend()) {
            exchange->finish(NGX_HTTP_INTERNAL_SERVER_ERROR);
        }
    });
    return exchange->suspended_ ? NGX_DONE : exchange->rc_;
}

Exchange::Hold::~Hold()
{
    if (--exchange_.depth_ == 0 && exchange_.request_ == nullptr
        && exchange_.waiting_ == 0) {
        delete &exchange_;
    }
}

// From here on nginx waits for finish(); the client's going is noticed, as in
// ngx_http_limit_req_handler().
bool Exchange::suspend()
{
    if (suspended_) {
        return true;
    }
    auto* event = request_->connection->read;
    if (event->ready) {
        ngx_post_event(event, &ngx_posted_events);
    } else if (ngx_handle_read_event(event, 0) != NGX_OK) {
        return false;
    }
    request_->read_event_handler = ngx_http_test_reading;
    request_->write_event_handler = ngx_http_request_empty_handler;
    request_->main->count++;
    suspended_ = true;
    return true;
}

void Exchange::wait_for_redis() noexcept
{
    if (!info_.asked_redis) {
        info_.asked_redis = true;
        info_.redis_started = ngx_current_msec;
    }
    ++waiting_;
}

void Exchange::send(const resp::Command& command, Slot& slot) noexcept
{
    wait_for_redis();
    store_.link.send(command, slot);
}

void Exchange::Slot::on_reply(const resp::Reply& reply) noexcept
{
    Exchange& owner = owner_;
    owner.deliver([&] { (owner.*on_reply_)(reply); });
}

void Exchange::Slot::on_loss(store::Loss loss) noexcept
{
    Exchange& owner = owner_;
    owner.deliver([&, write = write_] {
        if (this == &owner.strike_slot_) {
            return owner.on_strike_lost(loss);
        }
        owner.respond(store::failure_of(loss, write));
    });
}

// Called by nginx when the request is freed, before its log line is written.
void Exchange::detach() noexcept
{
    request_ = nullptr;
    if (waiting_ == 0 && depth_ == 0) {
        delete this;
    }
}

// The last thing an exchange does to its request. A suspended one may be gone
// when this returns.
void Exchange::finish(ngx_int_t rc)
{
    if (over()) {
        return;
    }
    finished_ = true;
    rc_ = rc;
    if (suspended_) {
        ngx_http_finalize_request(request_, rc);
    }
}

// A body that nobody read must not be taken for the next request; one that the
// client holds back until a 100 may never come.
void Exchange::discard_body()
{
    ngx_http_request_t* r = request_;
    if (r->request_body != nullptr || r->discard_body) {
        return;
    }
    if (r->headers_in.expect != nullptr && !r->expect_tested) {
        r->keepalive = 0;
    }
    r->expect_tested = 1;
    if (ngx_http_discard_request_body(r) != NGX_OK) {
        r->keepalive = 0;
    }
}

void Exchange::respond(ngx_int_t status, std::string_view body)
{
    if (!over()) {
        discard_body();
        finish(send_response(request_, info_, status, body));
    }
}

void Exchange::respond(const api::Error& error)
{
    if (over()) {
        return;
    }
    const int status = api::http_status(error.code);
    info_.error_code = api::code_name(error.code);
    if (status == NGX_HTTP_SERVICE_UNAVAILABLE
        && !add_header(request_, "Retry-After", "1")) {
        return finish(NGX_HTTP_INTERNAL_SERVER_ERROR);
    }
    if (status >= NGX_HTTP_INTERNAL_SERVER_ERROR) {
        if (info_.limit_status.empty()) {
            info_.limit_status = "UNAVAILABLE";
        }
        use_last_rate();
    }
    respond(status, api::error_body(error));
}

// For an answer that had to do without Redis: what it last said of the key,
// else a free key's limit with nothing left.
void Exchange::use_last_rate() noexcept
{
    if (info_.has_rate) {
        return;
    }
    if (key_ != nullptr && key_->account->has_rate) {
        info_.rate = key_->account->rate;
    } else {
        info_.rate = {conf_.main->plans.limits_of({}).minute, 0,
                      store_.now() + 1};
    }
    info_.has_rate = true;
}

ngx_int_t content_handler(ngx_http_request_t* r) noexcept
{
    return guarded(r->connection->log,
                   static_cast<ngx_int_t>(NGX_HTTP_INTERNAL_SERVER_ERROR),
                   [r] { return Exchange::handle(r); });
}

}  // namespace petstore::ngx
