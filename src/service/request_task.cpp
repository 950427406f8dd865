#include "request_task.h"

#include <string>

#include "../store/failure.h"

namespace petstore::service {

namespace {

// The most requests of one worker that may wait for Redis at a time, per Redis
// and prefix. Many can share a command, so the bound on commands does not bound
// their memory, which is 1 KB each once the client has left.
constexpr std::size_t kMaxWaiting = 16'384;

}  // namespace

RequestTask::RequestTask(const Context& context) noexcept : context_(context)
{
    RequestState& state = context.state;
    if (context.request.is_main()) {
        state.operation = api::Operation::none;
        state.wants_document = false;
        state.deprecated = false;
        // What was decided remains, whatever answers: an error page, say, that
        // decides nothing. So does the code of the refusal whose page it is.
        if (!state.reports_main) {
            state.error_code = {};
        }
        state.reports_main = true;
    }
}

RequestReport& RequestTask::report() noexcept
{
    return is_reported() ? context_.state : own_report_;
}

bool RequestTask::may_wait()
{
    if (context_.storage.waiting_requests < kMaxWaiting) {
        return true;
    }
    context_.storage.log.report(store::Event::request_refused);
    refuse(store::unavailable().error);
    return false;
}

void RequestTask::wait() noexcept
{
    RequestState& state = context_.state;
    if (!state.redis_time.started) {
        state.redis_time.started = now();
    }
    if (waiting_++ == 0) {
        ++context_.storage.waiting_requests;
    }
}

void RequestTask::respond(const Response& response)
{
    if (!over()) {
        finished_ = true;
        context_.responder.respond(response);
    }
}

void RequestTask::fail() noexcept
{
    if (!over()) {
        finished_ = true;
        context_.responder.fail();
    }
}

void RequestTask::refuse(const api::Error& error)
{
    refuse(error, {});
}

// `response` contains the headers.
void RequestTask::refuse(const api::Error& error, Response&& response)
{
    if (over()) {
        return;
    }
    response.status = api::http_status(error.code);
    report().error_code = api::code_name(error.code);
    if (response.status == 503) {
        response.retry_after = 1;
    }
    if (response.status >= 500) {
        if (report().limit_status == api::LimitStatus::none) {
            report().limit_status = api::LimitStatus::unavailable;
        }
        use_last_rate();
    }
    const std::string body = api::error_body(error);
    response.body = body;
    respond(response);
}

// For responses without a decision by Redis: reports the last known rate of the
// key, or else the limit of a free key with 0 remaining.
void RequestTask::use_last_rate() noexcept
{
    RequestState& state = context_.state;
    if (state.rate || !is_reported()) {
        return;
    }
    const auto& key = state.key.valid;
    if (key != nullptr && key->rate.limit != 0) {
        state.rate = key->rate;
    } else {
        const api::PlanTable& plans = context_.storage.plans.table();
        state.rate = api::RateView{plans.limits_of("free").minute, 0,
                                   context_.storage.redis_clock.now() + 1};
    }
}

}  // namespace petstore::service
