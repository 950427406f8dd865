#include "strikes.h"

#include <algorithm>
#include <utility>

#include "worker.h"

namespace petstore::ngx {

namespace {

constexpr ngx_msec_t kReportEvery = 500;

}  // namespace

void remember(store::Account& account, const api::Decision& decision,
              store::Monotonic sent)
{
    account.rate = api::rate_view(decision);
    account.has_rate = true;
    account.denied = decision.verdict != api::Verdict::admitted;
    if (!account.denied) {
        return;
    }

    account.denial = decision;
    account.confirmed = sent;
    account.redis_offset_at = monotonic_now();
    account.denied_until =
        sent
        + static_cast<store::Monotonic>(
            std::max<api::Millis>(api::denial_end(decision) - decision.now, 0));
}

void log_ban(ngx_log_t* log, const store::Account& account,
             const store::Limiter::Standing& standing)
{
    ngx_log_error(NGX_LOG_WARN, log, 0,
                  "petstore: account %s banned for %L s after %L denied "
                  "requests",
                  account.id.c_str(),
                  (standing.decision.ban_until - standing.decision.now) / 1000,
                  standing.strikes);
}

// One report on its way; owns itself until it was answered.
class StrikeReporter::Report final : public store::ReplyHandler {
public:
    Report(StrikeReporter& owner, std::shared_ptr<store::CachedKey> key,
           const api::BanPolicy& policy)
        : owner_(owner), key_(std::move(key)), policy_(policy),
          count_(std::exchange(key_->account->strikes, 0)),
          sent_(monotonic_now())
    {
        key_->account->reporting = true;
    }

    void send(bool eval)
    {
        eval_ = eval;
        owner_.link_.send(owner_.limiter_.strike(key_->account->id, key_->epoch,
                                                 count_, key_->limits, policy_,
                                                 eval),
                          *this);
    }

    void on_reply(const resp::Reply& reply) noexcept override
    {
        try {
            if (reply.is_error() && reply.error_code() == "NOSCRIPT"
                && !eval_) {
                send(true);
                return;
            }
            note(reply);
        } catch (...) {
            // Out of memory: the report is lost, the next one asks again.
        }
        end();
    }

    void on_loss(store::Loss loss) noexcept override
    {
        if (loss == store::Loss::not_sent) {
            key_->account->strikes += count_;
        }
        end();
    }

private:
    void note(const resp::Reply& reply)
    {
        store::Account& account = *key_->account;
        if (const auto key = store::damaged_key(reply); !key.empty()) {
            owner_.damage_log_.damaged(key);
        }
        const auto standing =
            store::Limiter::parse_standing(reply, key_->limits);
        if (standing.result == store::Limiter::Answer::Result::decided) {
            remember(account, standing.decision, sent_);
            account.strikes_known = standing.strikes;
            account.strikes_known_at = monotonic_now();
            if (standing.new_ban) {
                log_ban(&owner_.log_, account, standing);
            }
        } else {
            // Another epoch: an operator changed something. Whatever it is,
            // the next request has to ask.
            account.denied = false;
        }
    }

    void end() noexcept
    {
        key_->account->reporting = false;
        delete this;
    }

    StrikeReporter& owner_;
    const std::shared_ptr<store::CachedKey> key_;
    const api::BanPolicy& policy_;
    const std::int64_t count_;
    const store::Monotonic sent_;
    bool eval_ = false;
};

StrikeReporter::StrikeReporter(RedisLink& link, const store::Limiter& limiter,
                               store::DamageLog& damage_log, ngx_log_t& log)
    : link_(link), limiter_(limiter), damage_log_(damage_log), log_(log),
      timer_(*this, &log_, true)
{}

void StrikeReporter::add(const std::shared_ptr<store::CachedKey>& key,
                         const api::BanPolicy& policy)
{
    if (!key->account->listed) {
        listed_.push_back({key, &policy});
        key->account->listed = true;
    }
    if (!timer_.running()) {
        timer_.start(kReportEvery);
    }
}

void StrikeReporter::report(const std::shared_ptr<store::CachedKey>& key,
                            const api::BanPolicy& policy)
{
    if (key->account->reporting) {
        return;
    }
    auto* report = new Report(*this, key, policy);
    try {
        report->send(false);
    } catch (...) {
        report->on_loss(store::Loss::not_sent);
        throw;
    }
}

void StrikeReporter::flush() noexcept
{
    const auto listed = std::exchange(listed_, {});
    for (const auto& [key, policy] : listed) {
        store::Account& account = *key->account;
        account.listed = false;
        if (account.strikes == 0) {
            continue;
        }
        try {
            if (account.reporting) {
                add(key, *policy);
            } else {
                report(key, *policy);
            }
        } catch (...) {
            // Out of memory; they are counted with the account's next report.
        }
    }
}

}  // namespace petstore::ngx
