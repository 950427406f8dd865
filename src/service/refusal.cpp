// The last step of admission, for requests that are not admitted.
#include "refusal.h"

#include <algorithm>

namespace petstore::service {

namespace {

Refusal refuse_address(const RequestTask& task, const api::RateView& rate)
{
    const api::Millis now = task.storage().clock.host_time() / 1000 * 1000;
    api::Decision decision;
    decision.minute = {rate.limit, rate.limit, rate.reset * 1000};
    Refusal refusal{api::denial(decision, now), {}};
    refusal.response.retry_after = api::retry_after(decision.minute.reset, now);
    return refusal;
}

}  // namespace

Refusal refuse_key(RequestTask& task, const store::RefusedKey& key)
{
    RequestState& state = task.state();
    if (!state.address) {
        state.address = task.request().count_address();
    }
    const AddressWindow& window = *state.address;
    if (task.is_reported()) {
        state.key = {nullptr, key};
        // The rate of a decision in another store remains.
        if (state.decision.stage != SharedDecision::Stage::made) {
            state.rate = window.rate;
        }
    }
    task.report().limit_status = api::LimitStatus::denied;

    const Settings& settings = task.settings();
    if (settings.enforce_address_limit && window.exceeded) {
        if (!settings.limit_dry_run) {
            task.report().limit_status = api::LimitStatus::limited;
            return refuse_address(task, window.rate);
        }
        task.report().limit_status = api::LimitStatus::limited_dry_run;
        task.log().dry_run(nullptr);
    }

    Refusal refusal;
    if (key.refusal == api::KeyRefusal::missing) {
        refusal.error = {api::ErrorCode::missing_api_key, settings.missing_key};
        refusal.response.authenticate = settings.challenge;
    } else if (key.refusal == api::KeyRefusal::repeated) {
        refusal.error = {api::ErrorCode::invalid_parameter,
                         "The header " + settings.key_header
                             + " must not be repeated."};
    } else {
        refusal.error = {api::ErrorCode::invalid_api_key,
                         "The API key is not valid."};
        refusal.response.authenticate = settings.challenge_to_key;
    }
    return refusal;
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

Refusal deny(RequestTask& task, const api::Decision& decision)
{
    RequestState& state = task.state();
    state.decision.make(decision);
    if (task.is_reported()) {
        state.rate = api::rate_view(decision);
    }
    task.report().limit_status = decision.verdict == api::Verdict::banned
                                     ? api::LimitStatus::banned
                                     : api::LimitStatus::limited;
    Refusal refusal{api::denial(decision, decision.now), {}};
    if (!api::exceeds_plan(decision)) {
        refusal.response.retry_after =
            api::retry_after(api::denial_end(decision), decision.now);
    }
    return refusal;
}

}  // namespace petstore::service
