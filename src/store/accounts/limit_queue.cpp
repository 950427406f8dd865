#include "limit_queue.h"

#include <limits>
#include <vector>

#include "../../redis/script_call.h"
#include "../failure.h"

namespace petstore::store {

namespace {

// The most accounts per command. Each blocks Redis for about 3 µs.
constexpr std::size_t kMaxAccounts = 128;
static_assert(kMaxAccounts - 1
              <= std::numeric_limits<decltype(CachedKey::batch_index)>::max());

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

    // Either `key` is already in the batch, or its account is not and takes()
    // is true.
    void add(const Ref<CachedKey>& key, Known known, const Asker& asker)
    {
        const bool is_new = key->batch != number_;
        const std::size_t index = is_new ? keys_.size() : key->batch_index;
        grow(waiters_);
        if (is_new) {
            grow(requests_);
            grow(keys_);
            keys_.push_back(key);
            requests_.push_back({key->account->id(), queue_.epoch_of(*key),
                                 key->limits, 0, false, false});
            key->account->batch_ = number_;
            key->batch = number_;
            key->batch_index = static_cast<std::uint8_t>(index);
        }
        LimitRequest& request = requests_[index];
        waiters_.push_back({asker, index, request.requests});
        ++request.requests;
        // If the key records are on another Redis, they survive when the
        // accounts' Redis loses its data. An account without a state may then
        // always be a lost one, never certainly a new one.
        request.fresh |= known.fresh && queue_.limiter_.brings_version();
        request.placed |= known.placed;
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
               && results_[index].kind == LimitResult::Kind::foreign;
    }

    // Only for accounts that were not charged.
    void ask_alone(std::size_t index) noexcept
    {
        try {
            start_alone(index).send();
        } catch (...) {
            for (const Waiting& waiting : waiters_) {
                if (waiting.account == index) {
                    waiting.asker.waiter.on_result(read_not_sent());
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

void LimitQueue::add(const Ref<CachedKey>& key, Known known,
                     const Asker& asker) noexcept
{
    try {
        if (Batch* batch = open_batch(*key)) {
            batch->add(key, known, asker);
        } else {
            add_to_new_batch(key, known, asker);
        }
    } catch (...) {
        asker.waiter.on_result(read_not_sent());
    }
}

LimitQueue::Group LimitQueue::group_of(const CachedKey& key) const noexcept
{
    // An account's id hashes to the slot of its keys, which contain "{<id>}".
    return across_slots_ ? link_.group_of(key.account->id())
                         : reinterpret_cast<Group>(key.account.get());
}

// The script reads all accounts before it writes, so a command must not name an
// account twice: a second key of an account, or a newer record of the same key,
// goes into a later command, which is executed afterwards. nullptr if none of
// the open batches can take the key.
LimitQueue::Batch* LimitQueue::open_batch(const CachedKey& key) noexcept
{
    if (open_.empty()) {
        return nullptr;
    }
    const std::uint64_t first = open_.front()->number();
    if (key.batch >= first) {
        return open_[key.batch - first];
    }
    std::size_t index =
        key.account->batch_ < first ? 0 : key.account->batch_ - first + 1;
    const Group group = group_of(key);
    for (; index < open_.size(); ++index) {
        if (open_[index]->takes(group)) {
            return open_[index];
        }
    }
    return nullptr;
}

void LimitQueue::add_to_new_batch(const Ref<CachedKey>& key, Known known,
                                  const Asker& asker)
{
    Batch& batch = batches_.start(*this, numbers_ + 1, group_of(*key));
    try {
        open_.push_back(&batch);
        try {
            batch.add(key, known, asker);
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

// A Redis that holds only the accounts may lose the latest epochs in a failover
// or restart, while the other Redis keeps the records that they announced. So a
// record read before that is read again, with the account's current epoch.
std::int64_t LimitQueue::epoch_of(const CachedKey& key) const noexcept
{
    // An account's id hashes to the slot of its keys, which contain "{<id>}".
    const bool may_be_outdated =
        !limiter_.brings_version()
        && key.generation
               != static_cast<std::uint32_t>(
                   link_.connection_generation(key.account->id()));
    return may_be_outdated ? kNoEpoch : key.epoch;
}

// The limiter's result for one of the account's requests.
Outcome<LimitAnswer> LimitQueue::answer(const LimitResult& result,
                                        std::string_view account,
                                        std::int64_t index) noexcept
{
    using Kind = LimitAnswer::Kind;
    switch (result.kind) {
    case LimitResult::Kind::decided:
        return LimitAnswer{Kind::decided, 0, result.decision(index),
                           result.version};
    case LimitResult::Kind::stale:
        return LimitAnswer{Kind::stale, result.epoch, {}, std::nullopt};
    case LimitResult::Kind::unplaced:
        return LimitAnswer{Kind::unplaced, 0, {}, std::nullopt};
    case LimitResult::Kind::damaged:
        limiter_.report_damage(account, damage_log_);
        return Failure{damage_error()};
    case LimitResult::Kind::elsewhere:
        log_.limits_elsewhere();
        return not_counted();
    case LimitResult::Kind::foreign:
    case LimitResult::Kind::invalid:
        break;
    }
    log_.unexpected_limiter_reply();
    return not_counted();
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
