// The step of admission after the limiter's decision, or one from memory.
#include "decision.h"

#include <utility>

namespace petstore::service {

namespace {

// A dry run leads to no ban, not even for denials counted in other locations.
constexpr api::BanPolicy kNoBan = {false};

// The key whose account a denial is counted for: in another storage, the client
// may have another account. Empty if that one has let nothing through.
const ValidKey& denied_key(RequestTask& task, const ValidKey& key) noexcept
{
    const SharedDecision& shared = task.state().decision;
    return shared.is_of(task.storage()) ? key : shared.let_through;
}

// Counts a denied request. Returns true if it may cause a ban at once.
bool count_denial(RequestTask& task, const ValidKey& key,
                  const api::Decision& decision) noexcept
{
    const api::BanPolicy& policy = task.settings().ban;
    if (decision.verdict == api::Verdict::banned || !policy.enabled) {
        key->account->count_denial();
        return false;
    }
    return key->account->count_strike(policy, key->limits, task.now());
}

}  // namespace

std::int64_t find_cost(RequestTask& task) noexcept
{
    std::int64_t& cost = task.state().cost;
    if (cost == 0) {
        const std::int64_t fixed = task.settings().cost;
        cost = fixed != 0 ? fixed : task.request().cost();
    }
    return cost;
}

void remember_decision(const api::Decision& decision, store::Monotonic sent,
                       store::CachedKey& key, store::Storage& storage)
{
    key.rate = api::rate_view(decision);
    key.account->remember(decision, key.epoch, sent, storage.clock.monotonic());
    storage.redis_clock.set(key, decision.now, sent);
}

Consequence apply_decision(RequestTask& task, const ValidKey& key,
                           const api::Decision& decision)
{
    RequestState& state = task.state();
    state.decision.make(decision);
    if (task.is_reported()) {
        state.rate = api::rate_view(decision);
    }

    if (decision.verdict == api::Verdict::admitted) {
        task.report().limit_status = api::LimitStatus::passed;
        task.report().error_code = {};  // of a location before
        return Consequence::admit;
    }
    if (task.settings().limit_dry_run) {
        task.report().error_code = {};
        task.report().limit_status = decision.verdict == api::Verdict::banned
                                         ? api::LimitStatus::banned_dry_run
                                         : api::LimitStatus::limited_dry_run;
        task.log().dry_run(key->account.get());
        if (state.decision.is_of(task.storage())) {
            state.decision.let_through = key;
        }
        return Consequence::admit;
    }
    // A location with a dry run may have let it through to this one, uncounted.
    const ValidKey& denied = denied_key(task, key);
    if (!denied || api::exceeds_plan(decision)
        || std::exchange(state.decision.denial_counted, true)) {
        return Consequence::deny;
    }
    if (count_denial(task, denied, decision)) {
        return Consequence::deny_counted;
    }
    state.decision.storage->denials.queue(denied);
    return Consequence::deny;
}

void count_and_wait(RequestTask& task, const ValidKey& key,
                    const api::Decision& decision,
                    store::Waiter<api::Decision>& waiter,
                    store::BanLog& log) noexcept
{
    task.state().decision.storage->denials.report_and_wait(
        denied_key(task, key), task.settings().ban, decision, waiter, log);
}

void remember_unanswered(RequestTask& task, const ValidKey& key,
                         const api::Decision& decision,
                         store::Monotonic sent) noexcept
{
    try {
        remember_decision(decision, sent, *key, task.storage());
    } catch (...) {
        // Out of memory: the next request asks again.
    }
    if (decision.verdict == api::Verdict::admitted
        || task.settings().limit_dry_run || api::exceeds_plan(decision)
        || (!task.gone()
            && std::exchange(task.state().decision.denial_counted, true))) {
        return;
    }
    count_denial(task, key, decision);
    task.storage().denials.queue(key);
}

void confirm_denial(RequestTask& task, const ValidKey& key) noexcept
{
    const Settings& settings = task.settings();
    task.storage().denials.report(key, settings.limit_dry_run ? kNoBan
                                                              : settings.ban);
}

}  // namespace petstore::service
