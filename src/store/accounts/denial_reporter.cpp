#include "denial_reporter.h"

#include <utility>

#include "../../redis/error_table.h"
#include "../../redis/script_call.h"

namespace petstore::store {

// A report that has no reply yet.
class DenialReporter::Report final : public redis::InFlight<Report>::Item,
                                     private redis::ScriptCall {
public:
    // `waiter` is nullptr for a report in the background.
    Report(DenialReporter& owner, Ref<CachedKey> key,
           const api::Decision& decision, Waiter<api::Decision>* waiter,
           BanLog& log) noexcept
        : owner_(owner), key_(std::move(key)), decision_(decision),
          waiter_(waiter), log_(log), sent_(owner.clock_.monotonic())
    {}

    void send(const api::BanPolicy& policy) noexcept
    {
        Account& account = *key_->account;
        account.report_in_flight_ |= waiter_ == nullptr;
        // Where there are no bans, strikes of other locations wait for their
        // own report.
        denials_ = account.take_denials(policy.enabled);
        try {
            start(owner_.link_,
                  owner_.limiter_.report_denials(account.id(), key_->epoch,
                                                 denials_, policy));
        } catch (...) {
            on_no_result(redis::NoReply::not_sent);
        }
    }

private:
    void on_result(const redis::Reply& reply) noexcept override
    {
        Account& account = *key_->account;
        const auto damaged = damaged_key(reply);
        if (!damaged.empty()) {
            owner_.damage_log_.damaged(damaged);
        }
        const auto status =
            LimitCommands::parse_status(reply, key_->limits, decision_.cost);
        if (status.kind == LimitResult::Kind::decided) {
            const Monotonic now = owner_.clock_.monotonic();
            key_->rate = api::rate_view(status.decision);
            account.remember(status.decision, key_->epoch, sent_, now);
            account.set_reported(status.strikes, now);
            if (status.new_ban) {
                log_.account_banned(account, status);
            }
            // A window may have ended meanwhile, but the request was already
            // denied and counted.
            if (status.decision.verdict != api::Verdict::admitted) {
                decision_ = status.decision;
            }
        } else {
            if (damaged.empty() && reply.is_error()
                && !redis::error_row(reply.text()).executed) {
                account.return_denials(denials_);
            }
            // An operator changed something, or the account is damaged: the
            // next request must ask Redis.
            account.forget_denial();
        }
        end();
    }

    void on_no_result(redis::NoReply cause) noexcept override
    {
        if (cause == redis::NoReply::not_sent) {
            key_->account->return_denials(denials_);
        }
        end();
    }

    void end() noexcept
    {
        const auto self = owner_.reports_.take(*this);
        key_->account->settle_denials(denials_);
        if (waiter_ != nullptr) {
            waiter_->on_result(decision_);
        } else {
            key_->account->report_in_flight_ = false;
        }
    }

    DenialReporter& owner_;
    const Ref<CachedKey> key_;
    api::Decision decision_;
    Waiter<api::Decision>* const waiter_;
    BanLog& log_;
    const Monotonic sent_;
    DenialCounts denials_;
};

DenialReporter::DenialReporter(redis::Link& link, const LimitCommands& limiter,
                               const Clock& clock, redis::Alarm& alarm,
                               DamageLog& damage_log, BanLog& ban_log)
    : link_(link), limiter_(limiter), clock_(clock), alarm_(alarm),
      damage_log_(damage_log), ban_log_(ban_log)
{}

DenialReporter::~DenialReporter() = default;

void DenialReporter::queue(const Ref<CachedKey>& key)
{
    if (!key->account->report_queued_) {
        queued_.push_back(key);
        key->account->report_queued_ = true;
        if (queued_.size() == 1) {
            alarm_.set(*this, alarm_.now() + kInterval);
        }
    }
}

void DenialReporter::report(const Ref<CachedKey>& key,
                            const api::BanPolicy& policy) noexcept
{
    const Account& account = *key->account;
    if (account.report_in_flight_) {
        return;
    }
    const api::Decision decision =
        account.denials_ ? account.denials_->last : api::Decision();
    try {
        reports_.start(*this, key, decision, nullptr, ban_log_).send(policy);
    } catch (...) {
        // Out of memory.
    }
}

void DenialReporter::report_and_wait(const Ref<CachedKey>& key,
                                     const api::BanPolicy& policy,
                                     const api::Decision& decision,
                                     Waiter<api::Decision>& waiter,
                                     BanLog& log) noexcept
{
    Report* report = nullptr;
    try {
        report = &reports_.start(*this, key, decision, &waiter, log);
    } catch (...) {
        return waiter.on_result(decision);
    }
    report->send(policy);
}

void DenialReporter::flush() noexcept
{
    constexpr api::BanPolicy kNoBan = {false};
    const auto queued = std::exchange(queued_, {});
    for (const Ref<CachedKey>& key : queued) {
        Account& account = *key->account;
        account.report_queued_ = false;
        if (!account.has_denials()) {
            continue;
        }
        if (!account.report_in_flight_) {
            const api::BanPolicy* const policy = account.denials_->policy;
            report(key, policy != nullptr ? *policy : kNoBan);
            continue;
        }
        try {
            queue(key);
        } catch (...) {
            // Out of memory: they are sent with the account's next report.
        }
    }
}

}  // namespace petstore::store
