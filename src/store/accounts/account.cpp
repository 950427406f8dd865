#include "account.h"

#include <algorithm>
#include <utility>

#include "../container_bytes.h"

namespace petstore::store {

namespace {

// A change by an operator must show within a second, so a denial from memory is
// confirmed before that.
constexpr Monotonic kDenialValidFor = 900;
constexpr Monotonic kConfirmDenialAfter = 500;

std::size_t bytes_of(const Account& account) noexcept
{
    using Entry = std::pair<std::string_view, std::weak_ptr<Account>>;
    return kNodeBytes<Entry> + kSharedBytes<Account> + heap_bytes(account.id());
}

}  // namespace

Account::~Account()
{
    if (index_ != nullptr) {
        index_->remove(*this);
    }
}

void Account::remember(const api::Decision& decision, Monotonic sent,
                       Monotonic now) noexcept
{
    rate_ = api::rate_view(decision);
    has_rate_ = true;
    denied_ = decision.verdict != api::Verdict::admitted;
    if (!denied_) {
        return;
    }
    denial_ = decision;
    confirmed_ = sent;
    denial_now_read_ = now;
    denied_until_ = sent
                    + static_cast<Monotonic>(std::max<api::Millis>(
                        api::denial_end(decision) - decision.now, 0));
}

std::optional<api::Decision> Account::denial(const api::Limits& limits,
                                             Monotonic now) const noexcept
{
    if (!denied_ || now >= denied_until_ || now - confirmed_ >= kDenialValidFor
        || denial_.minute.limit != limits.minute
        || denial_.day.limit != limits.day) {
        return std::nullopt;
    }
    api::Decision decision = denial_;
    decision.now += static_cast<api::Millis>(now - denial_now_read_);
    return decision;
}

bool Account::needs_confirmation(Monotonic now) const noexcept
{
    return now - confirmed_ >= kConfirmDenialAfter;
}

bool Account::count_denial(const api::BanPolicy& policy,
                           const api::Limits& limits, Monotonic now) noexcept
{
    if (now - reported_at_ >= static_cast<Monotonic>(policy.window) * 1000) {
        reported_ = 0;
    }
    ++denials_;
    return reported_ + denials_ > policy.threshold_for(limits);
}

std::int64_t Account::take_denials() noexcept
{
    return std::exchange(denials_, 0);
}

void Account::set_reported(std::int64_t denials, Monotonic now) noexcept
{
    reported_ = denials;
    reported_at_ = now;
}

AccountIndex::~AccountIndex()
{
    for (const auto& entry : accounts_) {
        if (const auto account = entry.second.lock()) {
            account->index_ = nullptr;
        }
    }
}

std::shared_ptr<Account> AccountIndex::get(const std::string& id)
{
    const auto found = accounts_.find(id);
    if (found != accounts_.end()) {
        return found->second.lock();
    }
    auto account = std::make_shared<Account>(id);
    accounts_.emplace(account->id(), account);
    account->index_ = this;
    account_bytes_ += bytes_of(*account);
    return account;
}

void AccountIndex::remove(const Account& account) noexcept
{
    account_bytes_ -= bytes_of(account);
    accounts_.erase(accounts_.find(account.id()));
}

std::size_t AccountIndex::bytes() const noexcept
{
    return account_bytes_ + table_bytes(accounts_);
}

}  // namespace petstore::store
