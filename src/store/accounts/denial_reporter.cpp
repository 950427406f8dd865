#include "denial_reporter.h"

#include <algorithm>
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

    void send(api::BanPolicy policy) noexcept
    {
        Account& account = *key_->account;
        account.report_in_flight_ |= waiter_ == nullptr;
        // Where there are no bans, strikes of other locations wait for their
        // own report.
        denials_ = account.take_denials(policy, sent_);
        if (denials_.strikes != 0) {
            // They may have been refused before, and count for a whole window
            // in all.
            policy.window -=
                static_cast<std::int64_t>((sent_ - denials_.since) / 1000);
        }
        try {
            // The epoch that the denials were counted by, even if it may be
            // outdated: with another one, Redis would not count the strikes.
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
            if (key_->may_be_outdated(owner_.link_)) {
                account.forget_denial();
            } else {
                account.remember(status.decision, key_->epoch, sent_, now);
            }
            account.set_reported(status.strikes, now);
            if (status.new_ban) {
                log_.account_banned(account, status);
            }
            // A window may have ended meanwhile, but the request was already
            // denied and counted.
            if (status.decision.verdict != api::Verdict::admitted) {
                decision_ = status.decision;
            }
            return end(ReportEnd::accepted);
        }
        if (damaged.empty() && reply.is_error()) {
            // Says nothing about the account, whose denial ends soon unless it
            // is confirmed.
            return end(redis::error_row(reply.text()).executed
                           ? ReportEnd::unknown
                           : ReportEnd::refused);
        }
        // An operator changed something, or the account is damaged: the next
        // request must ask Redis.
        account.forget_denial();
        end(status.kind == LimitResult::Kind::stale ? ReportEnd::accepted
                                                    : ReportEnd::unknown);
    }

    void on_no_result(redis::NoReply cause) noexcept override
    {
        end(cause == redis::NoReply::not_sent ? ReportEnd::refused
                                              : ReportEnd::unknown);
    }

    void end(ReportEnd how) noexcept
    {
        const auto self = owner_.reports_.take(*this);
        Account& account = *key_->account;
        account.settle_denials(denials_, how, owner_.clock_.monotonic());
        account.report_in_flight_ &= waiter_ != nullptr;
        owner_.on_end(key_, how);
        if (waiter_ != nullptr) {
            waiter_->on_result(decision_);
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

void DenialReporter::queue(const Ref<CachedKey>& key) noexcept
{
    if (key->account->report_queued_ || queued_.size() >= kMaxQueued) {
        return;
    }
    try {
        queued_.push_back(key);
    } catch (...) {
        return;  // out of memory
    }
    key->account->report_queued_ = true;
    if (queued_.size() == 1) {
        schedule(interval());
    }
}

std::uint64_t DenialReporter::interval() const noexcept
{
    return refused_ && !alarm_.is_quitting() ? kRetryInterval : kInterval;
}

void DenialReporter::schedule(std::uint64_t after) noexcept
{
    flush_at_ = alarm_.now() + after;
    alarm_.set(*this, flush_at_);
}

void DenialReporter::on_end(const Ref<CachedKey>& key, ReportEnd end) noexcept
{
    if (end == ReportEnd::unknown) {
        return;
    }
    refused_ = end == ReportEnd::refused;
    if (!refused_) {
        give_up_at_ = 0;
        if (!queued_.empty() && flush_at_ > alarm_.now() + kInterval) {
            schedule(kInterval);
        }
    } else if (key->account->has_denials()) {
        queue(key);
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
    if (alarm_.is_quitting()) {
        if (give_up_at_ == 0) {
            give_up_at_ = alarm_.now() + kQuitWithin;
        } else if (alarm_.now() >= give_up_at_) {
            return queued_.clear();
        }
    }
    const bool more = queued_.size() > kMaxAtOnce;
    for (auto left = std::min(queued_.size(), kMaxAtOnce); left > 0; --left) {
        const Ref<CachedKey> key = std::move(queued_.front());
        queued_.pop_front();
        Account& account = *key->account;
        account.report_queued_ = false;
        if (!account.has_denials()) {
            continue;
        }
        if (account.report_in_flight_) {
            queue(key);
        } else {
            const api::BanPolicy* const policy = account.denials_->policy;
            report(key, policy != nullptr ? *policy : kNoBan);
        }
    }
    if (!queued_.empty()) {
        schedule(more && !refused_ ? kPause : interval());
    }
}

}  // namespace petstore::store
