#include "admission.h"

#include <utility>

#include "../store/failure.h"
#include "decision.h"
#include "refusal.h"

namespace petstore::service {

void Admission::run()
{
    authentication_.run();
}

// 1. The key is usable.
void Admission::on_key(Record record)
{
    if (confirming_) {
        handler_.on_key_confirmed();
    } else {
        check_limits(record);
    }
}

// 2. The limits: by a decision about the same client's request, by a denial of
// a moment ago, or by asking the limiter.
void Admission::check_limits(Record record)
{
    SharedDecision& shared = task_.state().decision;
    if (shared.stage != SharedDecision::Stage::none) {
        return share_decision(record);
    }
    // Limits depend on the plans, which seldom have to be waited for.
    store::PlansInForce& plans = task_.storage().plans;
    if (!plans_awaited_ && !plans.current()) {
        if (task_.may_wait()) {
            plans.wait(plans_read_.begin());
        }
        return;
    }
    const ValidKey& key = authentication_.key();
    plans.update(*key);
    const std::int64_t cost = find_cost(task_);
    const auto now = task_.now();
    if (const auto denial =
            key->account->denial(key->limits, key->epoch, cost, now)) {
        const bool confirm = key->account->needs_confirmation(now);
        shared.set_source(task_.storage(), key->account->denial_asked());
        act_on(*denial);
        if (confirm) {
            confirm_denial(task_, key);
        }
        return;
    }
    if (task_.may_wait()) {
        handler_.prepare();
        task_.wait();
        shared.ask(*this);
        task_.storage().limit_queue.add(
            key, cost, {record == Record::fresh, placed_},
            {*this, *this, handler_.needs_version()});
    }
}

// Also if another read is due by now: a slow Redis must not let a request wait
// for ever.
void Admission::take_plans(const store::Done&)
{
    plans_awaited_ = true;
    check_limits(Record::remembered);
}

// Whether the key's record may be used with the shared decision. The limiter
// has compared its epoch only if it was asked by this storage: another one has
// cached a record of its own, and may have another account for the key.
bool Admission::is_key_proven() const noexcept
{
    const SharedDecision& shared = task_.state().decision;
    return shared.is_of(task_.storage()) ? !shared.unproven : is_key_recent();
}

// Whether Redis has shown a moment ago that the key's record is the latest.
bool Admission::is_key_recent() const noexcept
{
    const SharedDecision& shared = task_.state().decision;
    const store::Monotonic shown = shared.is_of(task_.storage())
                                       ? shared.sent
                                       : authentication_.key()->asked;
    return task_.now() - shown < store::Account::kDecisionValidFor;
}

void Admission::share_decision(Record record)
{
    SharedDecision& shared = task_.state().decision;
    if (shared.stage == SharedDecision::Stage::asked) {
        shared.asker->followers_.push_back(this);
        task_.wait();
    } else if (shared.stage == SharedDecision::Stage::made) {
        // Before an internal redirect, or for a subrequest.
        if (record == Record::remembered && !reread_ && !is_key_proven()) {
            reread_ = true;
            return authentication_.read_again();
        }
        if (shared.is_of(task_.storage())) {
            shared.unproven = false;
        }
        act_on(api::Decision(shared.value));
    } else {
        task_.refuse(store::unavailable().error);
    }
}

void Admission::on_limit_sent() noexcept
{
    sent_ = task_.now();
    if (!task_.over() && !authentication_.renewed() && !placed_) {
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
    if (failure == nullptr && outcome.value().version
        && !authentication_.renewed()) {
        task_.attempt(
            [&] { handler_.on_limit_decided(*outcome.value().version); });
    }
    if (failure == nullptr && task_.over()
        && outcome.value().kind == store::LimitAnswer::Kind::decided) {
        remember_unanswered(task_, authentication_.key(),
                            outcome.value().decision, sent_);
    }
    const auto followers = std::exchange(followers_, {});
    if (!task_.gone()) {
        const bool lost = failure != nullptr && failure->in_doubt;
        task_.state().decision.stop_asking(lost ? SharedDecision::Stage::lost
                                                : SharedDecision::Stage::none);
    }
    task_.deliver([&] {  // may destroy this
        if (failure != nullptr) {
            task_.refuse(failure->error);
        } else {
            take_answer(outcome.value());
        }
    });
    for (Admission* follower : followers) {
        follower->task_.deliver(
            [follower] { follower->authentication_.check(); });
    }
}

void Admission::take_answer(const store::LimitAnswer& answer)
{
    using Kind = store::LimitAnswer::Kind;
    store::Storage& storage = task_.storage();
    if (answer.kind == Kind::decided) {
        version_ = answer.version;
        task_.state().decision.set_source(storage, sent_);
        store::CachedKey& key = *authentication_.key();
        remember_decision(answer.decision, sent_, key, storage);
        const bool usable = key.record.usable_at(answer.decision.now / 1000);
        // The command may have waited unsent, with the epoch of a lost
        // connection, and been executed by a server that has lost the epoch of
        // a revocation. So the decision proves nothing about the key.
        if (usable && !storage.limit_queue.may_be_outdated(key)) {
            return act_on(answer.decision);
        }
        task_.state().decision.make(answer.decision);
        task_.state().decision.unproven = true;
        if (task_.is_reported()) {
            task_.state().rate = api::rate_view(answer.decision);
        }
        // read_again() leads to share_decision(), which finds this decision.
        return usable ? authentication_.read_again() : authentication_.refuse();
    }
    if (answer.kind == Kind::stale) {
        return authentication_.renew(answer.epoch);
    }
    if (answer.kind == Kind::unplaced && !placed_) {
        // In a Cluster, for an account without a state, which is new unless
        // all accounts were moved.
        if (task_.may_wait()) {
            storage.marker_reader.confirm_here(marker_read_.begin());
        }
        return;
    }
    storage.log.report(store::Event::unexpected_limiter_reply);
    task_.refuse(store::not_counted().error);
}

void Admission::take_marker(const store::Done&)
{
    placed_ = true;
    authentication_.check();
}

// 3. Acts or denies.
void Admission::act_on(const api::Decision& decision)
{
    const ValidKey& key = authentication_.key();
    switch (apply_decision(task_, key, decision)) {
    case Consequence::admit:
        return handler_.on_admitted();
    case Consequence::deny:
        return deny(task_, decision);
    case Consequence::deny_counted:
        return count_and_wait(task_, key, decision, denial_counted_.begin(),
                              *this);
    }
}

void Admission::confirm_key()
{
    if (is_key_recent()) {
        return handler_.on_key_confirmed();
    }
    confirming_ = true;
    authentication_.read_again();
}

void Admission::take_counted(const api::Decision& decision)
{
    deny(task_, decision);
}

void Admission::account_banned(const store::Account& account,
                               const store::AccountStatus& status) noexcept
{
    store::BanLog& log = task_.over()
                             ? static_cast<store::BanLog&>(task_.storage().log)
                             : task_.log();
    log.account_banned(account, status);
}

void Admission::abandon() noexcept
{
    if (!task_.gone() && task_.state().decision.asker == this) {
        task_.state().decision.stop_asking();
    }
}

}  // namespace petstore::service
