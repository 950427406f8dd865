#include "limit_batch.h"

#include <limits>

#include "../../api/text.h"
#include "../failure.h"

namespace petstore::store {

namespace {

// The most accounts per command. Each blocks Redis for about 3 µs.
constexpr std::size_t kMaxAccounts = 128;
static_assert(kMaxAccounts - 1 <= std::numeric_limits<std::uint8_t>::max());

// Even a busy worker rarely gets more per event-loop iteration.
constexpr std::size_t kUsualRequests = 16;

// Makes room for one more element, so that adding it cannot throw.
template <typename T>
void grow(std::vector<T>& elements)
{
    if (elements.size() == elements.capacity()) {
        elements.reserve(2 * elements.size());
    }
}

bool is_same(const LimitRequest& one, const LimitRequest& other) noexcept
{
    return one.epoch == other.epoch && one.fresh == other.fresh
           && one.cost == other.cost && one.limits == other.limits;
}

// Scripts of the server cannot access keys of several slots.
bool is_unknown_flag(const redis::Reply& error) noexcept
{
    return api::starts_with(error.text(),
                            "ERR Unexpected flag in script shebang");
}

// The slot of one account is moving. A call for several accounts must not
// follow ASK; see Command::set_across_slots().
bool is_ask(const redis::Reply& error) noexcept
{
    return error.error_code() == "ASK";
}

}  // namespace

// Keeps the batch while its functions are on the stack: a command can fail
// before Link::send() returns.
class LimitQueue::Batch::Busy {
public:
    explicit Busy(Batch& batch) noexcept : batch_(batch) { ++batch_.busy_; }
    ~Busy()
    {
        if (--batch_.busy_ == 0 && batch_.done_) {
            batch_.queue_.batches_.end(batch_);
        }
    }
    Busy(const Busy&) = delete;

private:
    Batch& batch_;
};

LimitQueue::Batch::Batch(LimitQueue& queue, std::uint64_t number, Group group)
    : queue_(queue), number_(number), group_(group)
{
    keys_.reserve(kUsualRequests);
    requests_.reserve(kUsualRequests);
    waiters_.reserve(kUsualRequests);
}

bool LimitQueue::Batch::takes(Group group) const noexcept
{
    return group == group_ && keys_.size() < kMaxAccounts;
}

// The index of the account, or the number of accounts if it is not there.
std::size_t LimitQueue::Batch::find(const Account& account) const noexcept
{
    if (account.batch_ == number_) {
        return account.batch_index_;
    }
    std::size_t index = 0;
    while (index < keys_.size() && keys_[index]->account.get() != &account) {
        ++index;
    }
    return index;
}

bool LimitQueue::Batch::join(const LimitRequest& request,
                             const Account& account, const Asker& asker)
{
    const std::size_t index = find(account);
    if (index == keys_.size() || !is_same(requests_[index], request)) {
        return false;
    }
    LimitRequest& counted = requests_[index];
    waiters_.push_back({asker, index, counted.requests});
    ++counted.requests;
    counted.placed |= request.placed;
    counted.needs_version |= request.needs_version;
    return true;
}

void LimitQueue::Batch::add(const LimitRequest& request,
                            const Ref<CachedKey>& key, const Asker& asker)
{
    grow(waiters_);
    grow(requests_);
    grow(keys_);
    const std::size_t index = keys_.size();
    key->account->batch_ = number_;
    key->account->batch_index_ = static_cast<std::uint8_t>(index);
    keys_.push_back(key);
    requests_.push_back(request);
    waiters_.push_back({asker, index, 0});
}

void LimitQueue::Batch::run() noexcept
{
    queue_.close(*this);
    const Busy busy(*this);
    send();
    for (const Waiting& waiting : waiters_) {
        if (done_) {
            break;
        }
        waiting.asker.observer.on_limit_sent();
    }
}

void LimitQueue::Batch::send() noexcept
{
    const Busy busy(*this);
    try {
        start(queue_.link_, queue_.limiter_.decide(requests_));
    } catch (...) {
        fail(failure_of(redis::NoReply::not_sent, Purpose::read));
    }
}

// These errors are handled: each account is then sent in its own command.
bool LimitQueue::Batch::reports(const redis::Reply& error) const noexcept
{
    return asks_several() && (is_unknown_flag(error) || is_ask(error));
}

void LimitQueue::Batch::on_result(const redis::Reply& reply) noexcept
{
    const Busy busy(*this);
    if (reply.is_error() && reports(reply)) {
        if (is_unknown_flag(reply)) {
            queue_.across_slots_ = false;
        }
        done_ = true;
        for (std::size_t account = 0; account < keys_.size(); ++account) {
            ask_alone(account);
        }
        return;
    }
    if (reply.is_error()) {
        if (const auto key = damaged_key(reply); !key.empty()) {
            queue_.damage_log_.damaged(key);
        }
        return fail(failure_of(reply, Purpose::read));
    }
    try {
        results_ = queue_.limiter_.parse_decisions(reply, requests_);
    } catch (...) {
        return fail(failure_of(redis::NoReply::in_doubt, Purpose::read));
    }
    take_results();
}

void LimitQueue::Batch::on_no_result(redis::NoReply cause) noexcept
{
    fail(failure_of(cause, Purpose::read));
}

void LimitQueue::Batch::take_results() noexcept
{
    done_ = true;
    for (std::size_t i = 0; i < results_.size(); ++i) {
        if (results_[i].kind == LimitResult::Kind::decided) {
            keys_[i]->epoch = results_[i].epoch;
        }
    }
    for (const Waiting& waiting : waiters_) {
        if (!asks_again(waiting.account)) {
            waiting.asker.waiter.on_result(answer(waiting));
        }
    }
    for (std::size_t account = 0; account < results_.size(); ++account) {
        if (asks_again(account)) {
            ask_alone(account);
        }
    }
}

Outcome<LimitAnswer> LimitQueue::Batch::answer(const Waiting& waiting) noexcept
{
    using Kind = LimitAnswer::Kind;
    const LimitResult& result = results_[waiting.account];
    switch (result.kind) {
    case LimitResult::Kind::decided:
        return LimitAnswer{Kind::decided, 0, result.decision(waiting.index),
                           result.version};
    case LimitResult::Kind::stale:
        return LimitAnswer{Kind::stale, result.epoch, {}, std::nullopt};
    case LimitResult::Kind::unplaced:
        return LimitAnswer{Kind::unplaced, 0, {}, std::nullopt};
    case LimitResult::Kind::damaged:
        queue_.limiter_.report_damage(requests_[waiting.account].account,
                                      queue_.damage_log_);
        return Failure{damage_error()};
    case LimitResult::Kind::elsewhere:
        queue_.log_.report(Event::limits_elsewhere);
        return not_counted();
    case LimitResult::Kind::alone:
    case LimitResult::Kind::invalid:
        break;
    }
    queue_.log_.report(Event::unexpected_limiter_reply);
    return not_counted();
}

void LimitQueue::Batch::fail(const Failure& failure) noexcept
{
    const Busy busy(*this);
    done_ = true;
    const Outcome<LimitAnswer> outcome(failure);
    for (const Waiting& waiting : waiters_) {
        waiting.asker.waiter.on_result(outcome);
    }
}

bool LimitQueue::Batch::asks_again(std::size_t account) const noexcept
{
    return asks_several() && results_[account].kind == LimitResult::Kind::alone;
}

// Only for accounts that were not charged.
void LimitQueue::Batch::ask_alone(std::size_t account) noexcept
{
    try {
        start_alone(account).send();
    } catch (...) {
        for (const Waiting& waiting : waiters_) {
            if (waiting.account == account) {
                waiting.asker.waiter.on_result(unavailable());
            }
        }
    }
}

LimitQueue::Batch& LimitQueue::Batch::start_alone(std::size_t account) const
{
    Batch& alone = queue_.batches_.start(queue_, 0, group_);
    try {
        alone.keys_.push_back(keys_[account]);
        alone.requests_.push_back(requests_[account]);
        for (const Waiting& waiting : waiters_) {
            if (waiting.account == account) {
                alone.waiters_.push_back({waiting.asker, 0, waiting.index});
            }
        }
    } catch (...) {
        queue_.batches_.end(alone);
        throw;
    }
    return alone;
}

}  // namespace petstore::store
