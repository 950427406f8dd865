#include "health.h"

#include <algorithm>
#include <new>
#include <utility>

#include "../module.h"
#include "../nginx/handlers.h"
#include "../nginx/pool.h"
#include "../worker/worker.h"
#include "plain_response.h"

namespace petstore::ngx {

namespace {

constexpr ngx_msec_t kValidFor = 1000;

ngx_int_t send_health(ngx_http_request_t* r, bool healthy) noexcept
{
    return run_handler(r, [&] {
        return healthy
                   ? send_plain(r, {NGX_HTTP_NO_CONTENT, {}, {}, {}})
                   : send_plain_error(r, {api::ErrorCode::service_unavailable,
                                          "Redis does not answer."});
    });
}

}  // namespace

// Reads a key of one server, and then, in a Cluster, a key of each primary:
// through the link, which follows failovers and moved slots.
class Readiness::Check final : private redis::ReplyHandler {
public:
    Check(Readiness& owner, redis::Link& link, std::string key,
          const store::Schema& schema)
        : owner_(owner), link_(link), key_(std::move(key)), schema_(schema)
    {}

    bool is_of(const redis::Link& link, const std::string& key) const noexcept
    {
        return &link_ == &link && key_ == key;
    }

    void begin()
    {
        asks_primaries_ = true;
        link_.send(redis::Command("GET").key(key_), *this);
    }

private:
    // A server that is loading, or not a primary, answers with an error.
    void on_reply(const redis::Reply& reply) noexcept override
    {
        const bool reached = !reply.is_error();
        owner_.end(
            reached
            && (!std::exchange(asks_primaries_, false) || ask_primaries()));
    }
    void on_no_reply(redis::NoReply) noexcept override { owner_.end(false); }

    // After the first reply, since the link knows the primaries then.
    bool ask_primaries() noexcept
    {
        try {
            for (const std::string& tag : link_.tags_of_primaries()) {
                // Of an account that need not exist.
                const std::string state = schema_.account_state(tag);
                const auto get = redis::Command("GET").key(state);
                ++owner_.outstanding_;
                link_.send(get, *this);
            }
            return true;
        } catch (...) {
            return false;  // out of memory
        }
    }

    Readiness& owner_;
    redis::Link& link_;
    const std::string key_;
    const store::Schema& schema_;
    bool asks_primaries_ = false;  // the reply to the first GET comes next
};

Readiness::Readiness(ngx_log_t& log) noexcept : result_(*this, &log) {}

Readiness::~Readiness() = default;

void Readiness::add(redis::Link& link, std::string key,
                    const store::Schema& schema)
{
    const bool known =
        std::any_of(checks_.begin(), checks_.end(),
                    [&](const auto& check) { return check->is_of(link, key); });
    if (!known) {
        checks_.push_back(
            std::make_unique<Check>(*this, link, std::move(key), schema));
    }
}

void Readiness::ask(ReadyRequest& request)
{
    waiting_.push_back(&request);
    if (outstanding_ != 0) {
        return;
    }
    if (known_ && ngx_current_msec - checked_at_ < kValidFor) {
        result_.post();
        return;
    }
    begin();
}

void Readiness::forget(ReadyRequest& request) noexcept
{
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), &request),
                   waiting_.end());
}

void Readiness::begin() noexcept
{
    known_ = false;
    ready_ = true;
    checked_at_ = ngx_current_msec;
    // One extra, so that result_ is not posted before all checks have begun.
    outstanding_ = checks_.size() + 1;
    for (const auto& check : checks_) {
        try {
            check->begin();
        } catch (...) {
            end(false);  // out of memory
        }
    }
    end(true);
}

void Readiness::end(bool ready) noexcept
{
    ready_ &= ready;
    if (--outstanding_ == 0) {
        known_ = true;
        // Requests must not be finalized within another request's handler, nor
        // within their own.
        result_.post();
    }
}

void Readiness::report() noexcept
{
    while (known_ && !waiting_.empty()) {
        ReadyRequest* const request = waiting_.back();
        waiting_.pop_back();
        request->on_ready(ready_);
    }
}

ReadyRequest::ReadyRequest(ngx_http_request_t* r, Readiness& readiness) noexcept
    : r_(r), connection_(r->connection), readiness_(readiness),
      suspension_(r, Suspension::Phase::content)
{}

ReadyRequest::~ReadyRequest()
{
    readiness_.forget(*this);
}

ngx_int_t ReadyRequest::run()
{
    readiness_.ask(*this);
    if (!suspension_.suspend()) {
        readiness_.forget(*this);
        return NGX_HTTP_INTERNAL_SERVER_ERROR;
    }
    return suspension_.handler_result();
}

// Like ServedRequest around Redis events.
void ReadyRequest::on_ready(bool ready) noexcept
{
    ngx_connection_t* const connection = connection_;
    ngx_http_set_log_request(connection->log, r_);
    suspension_.finish(suspension_.is_taken_over() ? NGX_DONE
                                                   : send_health(r_, ready));
    ngx_http_run_posted_requests(connection);  // this object may be gone
}

ngx_int_t live_handler(ngx_http_request_t* r) noexcept
{
    const ngx_int_t rc = check_read_method(r);
    return rc == NGX_OK ? send_health(r, true) : rc;
}

ngx_int_t ready_handler(ngx_http_request_t* r) noexcept
{
    const ngx_int_t rc = check_read_method(r);
    if (rc != NGX_OK) {
        return rc;
    }
    return run_handler(r, [r]() -> ngx_int_t {
        static_assert(alignof(ReadyRequest) <= NGX_ALIGNMENT);
        // Not a cleanup of the pool, which may outlive a request that nginx
        // ends.
        auto* cleanup = ngx_http_cleanup_add(r, sizeof(ReadyRequest));
        Worker* worker = Worker::current();
        if (cleanup == nullptr || worker == nullptr) {
            return NGX_HTTP_INTERNAL_SERVER_ERROR;
        }
        auto* request =
            new (cleanup->data) ReadyRequest(r, worker->readiness());
        cleanup->handler = destroy_in_pool<ReadyRequest>;
        return request->run();
    });
}

}  // namespace petstore::ngx
