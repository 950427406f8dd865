#include "limit_queue.h"

#include <limits>
#include <vector>

#include "../../redis/script_call.h"
#include "../failure.h"

namespace petstore::store {

namespace {

// The most accounts per command. Each blocks Redis for about 3 µs.
constexpr std::size_t kMaxAccounts = 128;
static_assert(kMaxAccounts - 1 <= std::numeric_limits<std::uint8_t>::max());

// Even a busy worker rarely gets more per event-loop iteration.
constexpr std::size_t kUsualRequests = 16;

// The error of a server whose scripts cannot access keys of several slots.
constexpr std::string_view kUnknownFlag =
    "ERR Unexpected flag in script shebang";

// Not the epoch of any account.
constexpr std::int64_t kNoEpoch = 0;

// Makes room for one more element, so that adding it cannot throw.
template <typename T>
void grow(std::vector<T>& elements)
{
    if (elements.size() == elements.capacity()) {
        elements.reserve(2 * elements.size());
    }
}

}  // namespace

// One command of the limiter and the requests that it decides.
class LimitQueue::Batch final : public redis::InFlight<Batch>::Item,
                                public redis::EndOfIterationTask,
                                private redis::ScriptCall {
public:
    Batch(LimitQueue& queue, std::uint64_t number, Group group)
        : queue_(queue), number_(number), group_(group)
    {
        keys_.reserve(kUsualRequests);
        requests_.reserve(kUsualRequests);
        waiters_.reserve(kUsualRequests);
    }

    std::uint64_t number() const noexcept { return number_; }
    bool takes(Group group) const noexcept
    {
        return group == group_ && keys_.size() < kMaxAccounts;
    }

    // The place of the account in the batch, or size() if it is not there.
    std::size_t find(const Account& account) const noexcept
    {
        if (account.batch_ == number_) {
            return account.batch_index_;
        }
        std::size_t index = 0;
        while (index < size() && keys_[index]->account.get() != &account) {
            ++index;
        }
        return index;
    }

    std::size_t size() const noexcept { return keys_.size(); }

    // Whether the request may be counted with those at `index`.
    bool is_same(std::size_t index, const LimitRequest& request) const noexcept
    {
        const LimitRequest& same = requests_[index];
        return same.epoch == request.epoch && same.fresh == request.fresh
               && same.cost == request.cost
               && same.limits.minute == request.limits.minute
               && same.limits.day == request.limits.day
               && same.limits.month == request.limits.month;
    }

    // Counts the request with those at `index`, which are the same, or at the
    // end if takes() is true.
    void add(std::size_t index, const LimitRequest& request,
             const Ref<CachedKey>& key, const Asker& asker)
    {
        grow(waiters_);
        if (index == size()) {
            grow(requests_);
            grow(keys_);
            keys_.push_back(key);
            requests_.push_back(request);
            requests_.back().requests = 0;
            key->account->batch_ = number_;
            key->account->batch_index_ = static_cast<std::uint8_t>(index);
        }
        LimitRequest& counted = requests_[index];
        waiters_.push_back({asker, index, counted.requests});
        ++counted.requests;
        counted.placed |= request.placed;
        counted.needs_version |= request.needs_version;
    }

    void run() noexcept override
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

private:
    struct Waiting {
        Asker asker;
        std::size_t account;  // index in the batch
        std::int64_t index;   // among the requests of its account
    };

    // Keeps the batch while its functions are on the stack: a command can fail
    // before Link::send() returns.
    class Busy {
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

    void send() noexcept
    {
        const Busy busy(*this);
        try {
            start(queue_.link_, queue_.limiter_.decide(requests_));
        } catch (...) {
            fail(failure_of(redis::NoReply::not_sent, false));
        }
    }

    bool asks_several() const noexcept { return requests_.size() > 1; }

    bool refuses_flag(const redis::Reply& error) const noexcept
    {
        return asks_several()
               && error.text().substr(0, kUnknownFlag.size()) == kUnknownFlag;
    }

    // The slot of one account is moving. A call for several accounts must not
    // follow ASK; see Command::set_across_slots().
    bool is_at_moving_slot(const redis::Reply& error) const noexcept
    {
        return asks_several() && error.error_code() == "ASK";
    }

    // These errors are handled: each account is then sent in its own command.
    bool reports(const redis::Reply& error) const noexcept override
    {
        return refuses_flag(error) || is_at_moving_slot(error);
    }

    void on_result(const redis::Reply& reply) noexcept override
    {
        const Busy busy(*this);
        if (reply.is_error() && reports(reply)) {
            if (refuses_flag(reply)) {
                queue_.across_slots_ = false;
            }
            done_ = true;
            for (std::size_t index = 0; index < keys_.size(); ++index) {
                ask_alone(index);
            }
            return;
        }
        if (reply.is_error()) {
            if (const auto key = damaged_key(reply); !key.empty()) {
                queue_.damage_log_.damaged(key);
            }
            return fail(failure_of(reply, false));
        }
        try {
            results_ = queue_.limiter_.parse_decisions(reply, requests_);
        } catch (...) {
            return fail(failure_of(redis::NoReply::in_doubt, false));
        }
        done_ = true;
        for (std::size_t i = 0; i < results_.size(); ++i) {
            if (results_[i].kind == LimitResult::Kind::decided) {
                keys_[i]->epoch = results_[i].epoch;
            }
        }
        for (const Waiting& waiting : waiters_) {
            if (!asks_again(waiting.account)) {
                waiting.asker.waiter.on_result(queue_.answer(
                    results_[waiting.account],
                    requests_[waiting.account].account, waiting.index));
            }
        }
        for (std::size_t index = 0; index < results_.size(); ++index) {
            if (asks_again(index)) {
                ask_alone(index);
            }
        }
    }

    bool asks_again(std::size_t index) const noexcept
    {
        return asks_several()
               && results_[index].kind == LimitResult::Kind::alone;
    }

    // Only for accounts that were not charged.
    void ask_alone(std::size_t index) noexcept
    {
        try {
            start_alone(index).send();
        } catch (...) {
            for (const Waiting& waiting : waiters_) {
                if (waiting.account == index) {
                    waiting.asker.waiter.on_result(unavailable());
                }
            }
        }
    }

    Batch& start_alone(std::size_t index) const
    {
        Batch& alone = queue_.batches_.start(queue_, 0, group_);
        try {
            alone.keys_.push_back(keys_[index]);
            alone.requests_.push_back(requests_[index]);
            for (const Waiting& waiting : waiters_) {
                if (waiting.account == index) {
                    alone.waiters_.push_back({waiting.asker, 0, waiting.index});
                }
            }
        } catch (...) {
            queue_.batches_.end(alone);
            throw;
        }
        return alone;
    }

    void on_no_result(redis::NoReply cause) noexcept override
    {
        fail(failure_of(cause, false));
    }

    void fail(const Failure& failure) noexcept
    {
        const Busy busy(*this);
        done_ = true;
        const Outcome<LimitAnswer> outcome(failure);
        for (const Waiting& waiting : waiters_) {
            waiting.asker.waiter.on_result(outcome);
        }
    }

    LimitQueue& queue_;
    const std::uint64_t number_;
    const Group group_;
    std::vector<Ref<CachedKey>> keys_;
    std::vector<LimitRequest> requests_;  // one per key, in the same order
    std::vector<Waiting> waiters_;
    std::vector<LimitResult> results_;
    bool done_ = false;  // every waiter was called, or is being called
    int busy_ = 0;
};

LimitQueue::LimitQueue(redis::Link& link, redis::Scheduler& scheduler,
                       const LimitCommands& limiter, DamageLog& damage_log,
                       LimitLog& log) noexcept
    : link_(link), scheduler_(scheduler), limiter_(limiter),
      damage_log_(damage_log), log_(log)
{}

LimitQueue::~LimitQueue() = default;

void LimitQueue::add(const Ref<CachedKey>& key, std::int64_t cost, Known known,
                     const Asker& asker) noexcept
{
    LimitRequest request;
    request.account = key->account->id();
    request.epoch = epoch_of(*key);
    request.limits = key->limits;
    request.cost = cost;
    // If the key records are on another Redis, they survive when the accounts'
    // Redis loses its data. An account without a state may then always be a
    // lost one, never certainly a new one.
    request.fresh =
        known.fresh && limiter_.brings_version() && !may_be_outdated(*key);
    request.placed = known.placed;
    request.needs_version = asker.needs_version;
    try {
        if (!join(request, key, asker)) {
            add_to_new_batch(request, key, asker);
        }
    } catch (...) {
        asker.waiter.on_result(unavailable());
    }
}

LimitQueue::Group LimitQueue::group_of(const CachedKey& key) const noexcept
{
    return across_slots_ ? link_.group_of(key.account->slot_key())
                         : reinterpret_cast<Group>(key.account.get());
}

// The script reads all accounts before it writes, so a command must not name an
// account twice: requests with another cost, other limits or another epoch, and
// those that have just read the record, go into another command, the newest
// epoch into the last. Returns false if none
// of the open batches can take the request.
bool LimitQueue::join(const LimitRequest& request, const Ref<CachedKey>& key,
                      const Asker& asker)
{
    if (open_.empty()) {
        return false;
    }
    const Account& account = *key->account;
    const std::uint64_t first = open_.front()->number();
    const std::size_t end =
        account.batch_ < first ? 0 : account.batch_ - first + 1;
    for (std::size_t i = end; i-- > 0;) {
        const std::size_t index = open_[i]->find(account);
        if (index < open_[i]->size() && open_[i]->is_same(index, request)) {
            open_[i]->add(index, request, key, asker);
            return true;
        }
    }
    const Group group = group_of(*key);
    for (std::size_t i = end; i < open_.size(); ++i) {
        if (open_[i]->takes(group)) {
            open_[i]->add(open_[i]->size(), request, key, asker);
            return true;
        }
    }
    return false;
}

void LimitQueue::add_to_new_batch(const LimitRequest& request,
                                  const Ref<CachedKey>& key, const Asker& asker)
{
    Batch& batch = batches_.start(*this, numbers_ + 1, group_of(*key));
    try {
        open_.push_back(&batch);
        try {
            batch.add(0, request, key, asker);
        } catch (...) {
            open_.pop_back();
            throw;
        }
    } catch (...) {
        batches_.end(batch);
        throw;
    }
    ++numbers_;
    scheduler_.schedule(batch, redis::Scheduler::Stage::batch);
}

// A Redis may lose the latest epochs in a failover or restart, and keep the
// records that they announced: these may be on another Redis, and on the same
// one they were written before. So a record read before that is read again,
// with the account's current epoch.
bool LimitQueue::may_be_outdated(const CachedKey& key) const noexcept
{
    const auto generation = static_cast<std::uint32_t>(
        link_.connection_generation(key.account->slot_key()));
    return key.generation != generation;
}

std::int64_t LimitQueue::epoch_of(const CachedKey& key) const noexcept
{
    return may_be_outdated(key) ? kNoEpoch : key.epoch;
}

// Stops adding to the batch. Batches are sent in the order in which they were
// opened.
void LimitQueue::close(Batch& batch) noexcept
{
    while (!open_.empty() && open_.front()->number() <= batch.number()) {
        open_.pop_front();
    }
}

}  // namespace petstore::store
