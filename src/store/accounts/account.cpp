#include "account.h"

#include <algorithm>
#include <functional>
#include <new>
#include <utility>

#include "../../api/date.h"
#include "../memory.h"

namespace petstore::store {

namespace {

// So that it is confirmed before it ends.
constexpr Monotonic kConfirmDenialAfter = 500;

// However many requests are denied, a Redis that refuses reports gets few.
constexpr Monotonic kPauseAfterFailure = 500;

constexpr api::Millis kMinute = 60'000;
constexpr api::Millis kDay = 86'400'000;

// Whether the window is open at `time` and has less than `cost` left.
bool lacks(const api::Window& window, std::int64_t cost,
           api::Millis time) noexcept
{
    return !window.has(cost) && window.reset > time;
}

// Keys of an account may have limits of their own, but share its counts.
void set_limits(api::Decision& decision, const api::Limits& limits) noexcept
{
    decision.minute.limit = limits.minute;
    decision.day.limit = limits.day;
    decision.month.limit = limits.month;
    if (limits.has_month() && decision.month.reset == 0) {
        decision.month.reset =
            api::first_of_next_month(api::day_of(decision.now / 1000))
            * api::kDaySeconds * 1000;
    }
}

// A window that has ended will begin with the next request.
void renew(api::Window& window, api::Millis length, api::Millis now) noexcept
{
    if (window.limit != 0 && window.reset <= now) {
        window.used = 0;
        window.reset = now + length;
    }
}

}  // namespace

Account::~Account()
{
    if (index_ != nullptr) {
        index_->remove(*this);
    }
}

std::size_t Account::bytes() const noexcept
{
    return heap_bytes(sizeof(Account)) + id_.owned_bytes()
           + (denials_ ? heap_bytes(sizeof(Denials)) : 0);
}

Account::Denials* Account::ensure_denials() noexcept
{
    if (!denials_) {
        denials_.reset(new (std::nothrow) Denials);
        if (denials_ && index_ != nullptr) {
            index_->account_bytes_ += heap_bytes(sizeof(Denials));
        }
    }
    return denials_.get();
}

void Account::remember(const api::Decision& decision, std::int64_t epoch,
                       Monotonic sent, Monotonic now) noexcept
{
    if (decision.verdict == api::Verdict::admitted) {
        return forget_denial();
    }
    if (Denials* const denials = ensure_denials()) {
        denials->denied = true;
        denials->last = decision;
        denials->epoch = epoch;
        denials->confirmed = sent;
        denials->now_read = now;
    }
}

std::optional<api::Decision> Account::denial(const api::Limits& limits,
                                             std::int64_t epoch,
                                             std::int64_t cost,
                                             Monotonic now) const noexcept
{
    if (!denials_ || !denials_->denied || epoch < denials_->epoch
        || now - denials_->confirmed >= kDecisionValidFor) {
        return std::nullopt;
    }
    api::Decision decision = denials_->last;
    set_limits(decision, limits);
    // No earlier than Redis's clock now.
    const api::Millis latest =
        decision.now + static_cast<api::Millis>(now - denials_->confirmed);
    const bool banned = decision.verdict == api::Verdict::banned;
    if (banned ? latest >= decision.ban_until
               : !lacks(decision.minute, cost, latest)
                     && !lacks(decision.day, cost, latest)
                     && !lacks(decision.month, cost, latest)) {
        return std::nullopt;
    }
    decision.cost = cost;
    decision.now += static_cast<api::Millis>(now - denials_->now_read);
    // The month's end changes with the month, for less than a second.
    renew(decision.minute, kMinute, latest);
    renew(decision.day, kDay, latest);
    return decision;
}

bool Account::needs_confirmation(Monotonic now) const noexcept
{
    return !denials_
           || (now - denials_->confirmed >= kConfirmDenialAfter
               && now >= denials_->paused_until);
}

void Account::count_denial() noexcept
{
    if (Denials* const denials = ensure_denials()) {
        ++denials->unreported.all;
    }
}

bool Account::count_strike(const api::BanPolicy& policy,
                           const api::Limits& limits, Monotonic now) noexcept
{
    Denials* const denials = ensure_denials();
    if (denials == nullptr) {
        return false;
    }
    denials->policy = &policy;
    if (now - denials->reported_at
        >= static_cast<Monotonic>(policy.window) * 1000) {
        denials->reported = 0;
    }
    denials->drop_old_strikes(policy.window, now);
    add_unreported({1, 1, limits.minute, now});
    return denials->reported + denials->strikes_in_flight
                   + denials->unreported.strikes
               > policy.threshold_for(limits.minute)
           && now >= denials->paused_until;
}

void Account::Denials::drop_old_strikes(std::int64_t window,
                                        Monotonic now) noexcept
{
    if (unreported.strikes != 0
        && now - unreported.since >= static_cast<Monotonic>(window) * 1000) {
        unreported = {unreported.all};
    }
}

DenialCounts Account::take_denials(const api::BanPolicy& policy,
                                   Monotonic now) noexcept
{
    if (!denials_) {
        return {};
    }
    DenialCounts& unreported = denials_->unreported;
    if (!policy.enabled) {
        return {std::exchange(unreported.all, 0)};
    }
    denials_->drop_old_strikes(policy.window, now);
    denials_->strikes_in_flight += unreported.strikes;
    return std::exchange(unreported, {});
}

void Account::settle_denials(const DenialCounts& counts, ReportEnd end,
                             Monotonic now) noexcept
{
    if (denials_) {
        denials_->strikes_in_flight -= counts.strikes;
        denials_->paused_until =
            end == ReportEnd::accepted ? 0 : now + kPauseAfterFailure;
    }
    if (end == ReportEnd::refused) {
        add_unreported(counts);
    }
}

void Account::add_unreported(const DenialCounts& counts) noexcept
{
    if (Denials* const denials = ensure_denials()) {
        DenialCounts& unreported = denials->unreported;
        unreported.all += counts.all;
        if (counts.strikes != 0) {
            unreported.since = unreported.strikes == 0
                                   ? counts.since
                                   : std::min(unreported.since, counts.since);
        }
        unreported.strikes += counts.strikes;
        unreported.minute = std::max(unreported.minute, counts.minute);
    }
}

void Account::set_reported(std::int64_t strikes, Monotonic now) noexcept
{
    if (Denials* const denials = ensure_denials()) {
        denials->reported = strikes;
        denials->reported_at = now;
    }
}

AccountIndex::~AccountIndex()
{
    for (Account* account : chains_) {
        for (; account != nullptr; account = account->next_) {
            account->index_ = nullptr;
        }
    }
}

Account** AccountIndex::pointer_to(std::string_view id) noexcept
{
    std::size_t chain = std::hash<std::string_view>()(id) & mask_;
    if (chain >= chains_.size()) {
        chain &= mask_ / 2;  // not split yet
    }
    Account** pointer = &chains_[chain];
    while (*pointer != nullptr && (*pointer)->id() != id) {
        pointer = &(*pointer)->next_;
    }
    return pointer;
}

Ref<Account> AccountIndex::get(std::string_view id)
{
    if (size_ == chains_.size()) {
        add_chain();
    }
    Account** const pointer = pointer_to(id);
    if (*pointer != nullptr) {
        return Ref<Account>(*pointer);
    }
    auto account = make_ref<Account>(id);
    *pointer = account.get();
    account->index_ = this;
    ++size_;
    account_bytes_ += account->bytes();
    return account;
}

void AccountIndex::add_chain()
{
    const std::size_t added = chains_.size();
    chains_.push_back(nullptr);
    Account* account = std::exchange(chains_[added & (mask_ / 2)], nullptr);
    if (added == mask_) {
        mask_ = 2 * mask_ + 1;
    }
    while (account != nullptr) {
        Account* const next = std::exchange(account->next_, nullptr);
        *pointer_to(account->id()) = account;
        account = next;
    }
}

void AccountIndex::remove(Account& account) noexcept
{
    account_bytes_ -= account.bytes();
    --size_;
    *pointer_to(account.id()) = account.next_;
}

}  // namespace petstore::store
