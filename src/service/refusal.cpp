// The last step of admission, for requests that are not admitted.
#include "refusal.h"

#include <algorithm>
#include <utility>

namespace petstore::service {

namespace {

void refuse_address(RequestTask& task, const api::RateView& rate)
{
    const api::Millis now = task.storage().clock.host_time() / 1000 * 1000;
    api::Decision decision;
    decision.minute = {rate.limit, rate.limit, rate.reset * 1000};
    Response response;
    response.retry_after = api::retry_after(decision.minute.reset, now);
    task.refuse(api::denial(decision, now), std::move(response));
}

// Counts the request in the window of its client's address and reports that
// window's rate. Returns true if the window is exceeded and has refused it.
bool limit_address(RequestTask& task)
{
    RequestState& state = task.state();
    if (!state.address) {
        state.address = task.request().count_address();
    }
    const AddressWindow& window = *state.address;
    if (task.is_reported()) {
        state.rate = window.rate;
    }
    if (!task.settings().enforce_address_limit || !window.exceeded) {
        return false;
    }
    if (task.settings().limit_dry_run) {
        task.report().limit_status = api::LimitStatus::limited_dry_run;
        task.log().dry_run(nullptr);
        return false;
    }
    task.report().limit_status = api::LimitStatus::limited;
    refuse_address(task, window.rate);
    return true;
}

}  // namespace

void refuse_key(RequestTask& task, const store::RefusedKey& key)
{
    RequestState& state = task.state();
    if (task.is_reported()) {
        state.key = {nullptr, key};
    }
    task.report().limit_status = api::LimitStatus::denied;
    // After a decision, the limits of its account apply, and are reported.
    if (state.decision.stage != SharedDecision::Stage::made
        && limit_address(task)) {
        return;
    }

    const Settings& settings = task.settings();
    api::Error error;
    Response response;
    if (key.refusal == api::KeyRefusal::missing) {
        error = {api::ErrorCode::missing_api_key, settings.missing_key};
        response.authenticate = settings.challenge;
    } else if (key.refusal == api::KeyRefusal::repeated) {
        error = {api::ErrorCode::invalid_parameter,
                 "The header " + settings.key_header
                     + " must not be repeated."};
    } else {
        error = {api::ErrorCode::invalid_api_key, "The API key is not valid."};
        response.authenticate = settings.challenge_to_key;
    }
    task.refuse(error, std::move(response));
}

bool is_plan_allowed(const Settings& settings,
                     const store::CachedKey& key) noexcept
{
    const auto& plans = settings.plans;
    return plans.empty()
           || std::find(plans.begin(), plans.end(), key.record.plan())
                  != plans.end();
}

api::Error plan_not_allowed() noexcept
{
    return {api::ErrorCode::plan_not_allowed,
            "The plan of this API key does not include this resource."};
}

api::Error no_such_path() noexcept
{
    return {api::ErrorCode::not_found, "The path does not exist."};
}

api::Error insufficient_scope() noexcept
{
    return {api::ErrorCode::insufficient_scope,
            "The API key lacks the scope for this operation."};
}

void deny(RequestTask& task, const api::Decision& decision)
{
    RequestState& state = task.state();
    state.decision.make(decision);
    if (task.is_reported()) {
        state.rate = api::rate_view(decision);
    }
    task.report().limit_status = decision.verdict == api::Verdict::banned
                                     ? api::LimitStatus::banned
                                     : api::LimitStatus::limited;
    Response response;
    if (!api::exceeds_plan(decision)) {
        response.retry_after =
            api::retry_after(api::denial_end(decision), decision.now);
    }
    task.refuse(api::denial(decision, decision.now), std::move(response));
}

}  // namespace petstore::service
