#include "admission.h"

#include <utility>

#include "../store/failure.h"
#include "decision.h"

namespace petstore::service {

namespace {

// A record may change while it is read, or its account may move to another
// server of a Cluster. More refreshes than this indicate a fault.
constexpr int kMaxRefreshes = 8;

}  // namespace

void Admission::run()
{
    proceed(find_key(task_.request(), task_.storage(), digest_));
}

// 1. The key: from memory, or else from Redis.
void Admission::proceed(FoundKey found)
{
    if (found.valid != nullptr) {
        key_ = std::move(found.valid);
        return check(Record::remembered);
    }
    if (found.refused) {
        return refuse(refuse_key(task_, *found.refused));
    }
    if (task_.may_wait()) {
        // Ahead of the record, so that it need not be waited for.
        task_.storage().plans.current();
        const std::string_view account =
            key_ != nullptr ? key_->account->id() : std::string_view();
        task_.storage().key_loader.load(digest_, {epoch_, account},
                                        key_read_.begin());
    }
}

void Admission::take_key(const store::Ref<store::CachedKey>& key)
{
    key_ = key;
    key_ == nullptr ? refuse_forgotten_key() : check(Record::fresh);
}

// 2. Its expiry.
void Admission::check(Record record)
{
    store::Storage& storage = task_.storage();
    const store::Expiry expiry = storage.redis_clock.expiry(*key_);
    if (key_->record.disabled || expiry == store::Expiry::expired) {
        return refuse_forgotten_key();
    }
    if (expiry == store::Expiry::unconfirmed && !asked_clock_) {
        if (task_.may_wait()) {
            asked_clock_ = true;
            storage.redis_clock.ask(*key_, clock_read_.begin());
        }
        return;
    }
    task_.state().key = {key_, {}};
    check_limits(record);
}

void Admission::take_clock(const store::Done&)
{
    check(Record::remembered);
}

void Admission::take_plans(const store::Done&)
{
    check_limits(Record::remembered);
}

// 4. The limits: by a decision about the same client's request, by a denial of
// a moment ago, or by asking the limiter.
void Admission::check_limits(Record record)
{
    SharedDecision& shared = task_.state().decision;
    if (shared.stage != SharedDecision::Stage::none) {
        return share_decision();
    }
    // 3. The plans, which seldom have to be waited for.
    store::PlansInForce& plans = task_.storage().plans;
    if (!plans.current()) {
        if (task_.may_wait()) {
            plans.wait(plans_read_.begin());
        }
        return;
    }
    plans.update(*key_);
    const std::int64_t cost = find_cost(task_);
    const auto now = task_.now();
    if (const auto denial =
            key_->account->denial(key_->limits, key_->epoch, cost, now)) {
        const bool confirm = key_->account->needs_confirmation(now);
        act_on(*denial);
        if (confirm) {
            confirm_denial(task_, key_);
        }
        return;
    }
    if (task_.may_wait()) {
        handler_.prepare();
        task_.wait();
        shared.ask(*this);
        task_.storage().limits.add(
            key_, cost, {record == Record::fresh, placed_}, {*this, *this});
    }
}

void Admission::share_decision()
{
    const SharedDecision& shared = task_.state().decision;
    if (shared.stage == SharedDecision::Stage::asked) {
        shared.asker->followers_.push_back(this);
        task_.wait();
    } else if (shared.stage == SharedDecision::Stage::made) {
        // Before an internal redirect, or for a subrequest.
        act_on(api::Decision(shared.value));
    } else {
        task_.refuse(store::read_not_sent().error);
    }
}

void Admission::on_limit_sent() noexcept
{
    sent_ = task_.now();
    if (!task_.over() && refreshes_ == 0 && !placed_) {
        task_.attempt([this] { handler_.on_limit_sent(); });
    }
}

// Takes the answer, then resumes the subrequests that wait for the same
// decision. If there is none, the first of them asks again, unless a reply was
// lost.
void Admission::on_result(
    const store::Outcome<store::LimitAnswer>& outcome) noexcept
{
    const store::Failure* const failure = outcome.failure();
    // Reads ahead were sent right behind the first command.
    if (failure == nullptr && outcome.value().version && refreshes_ == 0) {
        task_.attempt(
            [&] { handler_.on_limit_decided(*outcome.value().version); });
    }
    const auto followers = std::exchange(followers_, {});
    if (!task_.gone()) {
        const bool lost = failure != nullptr && failure->in_doubt;
        task_.state().decision.stop_asking(lost ? SharedDecision::Stage::lost
                                                : SharedDecision::Stage::none);
    }
    task_.deliver([&] {  // may destroy this
        failure != nullptr ? task_.refuse(failure->error)
                           : take_answer(outcome.value());
    });
    for (Admission* follower : followers) {
        follower->task_.deliver(
            [follower] { follower->check(Record::remembered); });
    }
}

void Admission::take_answer(const store::LimitAnswer& answer)
{
    using Kind = store::LimitAnswer::Kind;
    store::Storage& storage = task_.storage();
    if (answer.kind == Kind::decided) {
        version_ = answer.version;
        return take_decision(answer.decision, sent_, *key_, storage)
                   ? act_on(answer.decision)
                   : refuse_forgotten_key();
    }
    if (answer.kind == Kind::stale && refreshes_++ < kMaxRefreshes) {
        epoch_ = answer.epoch;
        return proceed(find_newer_key(digest_, key_, epoch_, storage));
    }
    if (answer.kind == Kind::unplaced && !placed_) {
        // In a Cluster, for an account without a state, which is new unless
        // all accounts were moved.
        if (task_.may_wait()) {
            storage.limits_marker.confirm_here(marker_read_.begin());
        }
        return;
    }
    storage.log.unexpected_limiter_reply();
    task_.refuse(store::not_counted().error);
}

void Admission::take_marker(const store::Done&)
{
    placed_ = true;
    check(Record::remembered);
}

// 4. Acts or denies.
void Admission::act_on(const api::Decision& decision)
{
    switch (apply_decision(task_, key_, decision)) {
    case Consequence::admit:
        return handler_.on_admitted();
    case Consequence::deny:
        return refuse(deny(task_, decision));
    case Consequence::deny_counted:
        return task_.storage().denials.report_and_wait(
            key_, task_.settings().ban, decision, denial_counted_.begin(),
            *this);
    }
}

void Admission::take_counted(const api::Decision& decision)
{
    refuse(deny(task_, decision));
}

void Admission::account_banned(const store::Account& account,
                               const store::AccountStatus& status) noexcept
{
    store::BanLog& log = task_.over()
                             ? static_cast<store::BanLog&>(task_.storage().log)
                             : task_.log();
    log.account_banned(account, status);
}

// The key does not exist, or is no longer usable.
void Admission::refuse_forgotten_key()
{
    refuse(refuse_key(task_, forget_key(digest_, key_.get(), task_.storage())));
}

void Admission::refuse(Refusal&& refusal)
{
    task_.refuse(refusal.error, std::move(refusal.response));
}

void Admission::abandon() noexcept
{
    if (!task_.gone() && task_.state().decision.asker == this) {
        task_.state().decision.stop_asking();
    }
}

}  // namespace petstore::service
