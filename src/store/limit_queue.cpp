#include "limit_queue.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace petstore::store {

namespace {

// Accounts of one command. They take Redis some 3 µs each, during which it does
// nothing else.
constexpr std::size_t kMaxAccounts = 128;

// A busy worker's iteration seldom brings more.
constexpr std::size_t kUsualRequests = 16;

// Makes room for one more element, so that adding it cannot throw.
template <typename T>
void grow(std::vector<T>& elements)
{
    if (elements.size() == elements.capacity()) {
        elements.reserve(2 * elements.size());
    }
}

}  // namespace

// One command of the limiter and the requests that it decides. Owned by the
// queue until every waiter was called.
class LimitQueue::Batch final : public Deferred, public ReplyHandler {
public:
    Batch(LimitQueue& queue, std::uint64_t number)
        : queue_(queue), number_(number)
    {
        keys_.reserve(kUsualRequests);
        questions_.reserve(kUsualRequests);
        waiters_.reserve(kUsualRequests);
    }

    // Where the queue's list holds it; set once it does.
    void set_owner(std::list<Batch>::iterator self) noexcept { self_ = self; }

    std::uint64_t number() const noexcept { return number_; }
    bool full() const noexcept { return keys_.size() == kMaxAccounts; }

    // `key` is in the batch, or its account is not and the batch is not full.
    void add(const std::shared_ptr<CachedKey>& key, bool fresh,
             LimitWaiter& waiter)
    {
        const bool is_new = key->batch != number_;
        const std::size_t place = is_new ? keys_.size() : key->place;
        grow(waiters_);
        if (is_new) {
            grow(questions_);
            grow(keys_);
            keys_.push_back(key);
            questions_.push_back(
                {key->account->id, key->epoch, key->limits, 0, false});
            key->account->batch = number_;
            key->batch = number_;
            key->place = place;
        }
        Limiter::Question& question = questions_[place];
        waiters_.push_back({&waiter, place, question.requests});
        ++question.requests;
        question.fresh |= fresh;
    }

    void emit() noexcept override
    {
        queue_.close(*this);
        const Busy busy(*this);
        send(false);
        for (const Waiting& waiting : waiters_) {
            if (done_) {
                break;
            }
            waiting.waiter->on_limit_sent();
        }
    }

    void on_reply(const resp::Reply& reply) noexcept override
    {
        const Busy busy(*this);
        if (reply.is_error()) {
            if (reply.error_code() == "NOSCRIPT" && !eval_) {
                return send(true);
            }
            done_ = true;
            for (const Waiting& waiting : waiters_) {
                waiting.waiter->on_limit_error(reply);
            }
            return;
        }
        try {
            answers_ = Limiter::parse_answers(reply, questions_);
        } catch (...) {
            return on_loss(Loss::unknown);
        }
        done_ = true;
        for (std::size_t i = 0; i < answers_.size(); ++i) {
            if (answers_[i].result == Limiter::Answer::Result::decided) {
                keys_[i]->epoch = answers_[i].epoch;
            }
        }
        for (const Waiting& waiting : waiters_) {
            waiting.waiter->on_limit(answers_[waiting.place], waiting.index);
        }
    }

    void on_loss(Loss loss) noexcept override
    {
        const Busy busy(*this);
        done_ = true;
        for (const Waiting& waiting : waiters_) {
            waiting.waiter->on_limit_loss(loss);
        }
    }

private:
    struct Waiting {
        LimitWaiter* waiter;
        std::size_t place;   // of its account
        std::int64_t index;  // among the requests of its account
    };

    // Keeps the batch while its functions are on the stack: a command can be
    // lost before Link::send() returns.
    class Busy {
    public:
        explicit Busy(Batch& batch) noexcept : batch_(batch) { ++batch_.busy_; }
        ~Busy()
        {
            if (--batch_.busy_ == 0 && batch_.done_) {
                batch_.queue_.batches_.erase(batch_.self_);
            }
        }
        Busy(const Busy&) = delete;

    private:
        Batch& batch_;
    };

    void send(bool eval) noexcept
    {
        eval_ = eval;
        try {
            const auto command = queue_.limiter_.decide(questions_, eval);
            queue_.link_.send(command, *this);
        } catch (...) {
            on_loss(Loss::not_sent);
        }
    }

    LimitQueue& queue_;
    const std::uint64_t number_;
    std::list<Batch>::iterator self_;
    std::vector<std::shared_ptr<CachedKey>> keys_;
    std::vector<Limiter::Question> questions_;  // on them, in their order
    std::vector<Waiting> waiters_;
    std::vector<Limiter::Answer> answers_;
    bool eval_ = false;
    bool done_ = false;  // every waiter was called, or is being called
    int busy_ = 0;
};

LimitQueue::LimitQueue(TurnLink& link, const Limiter& limiter) noexcept
    : link_(link), limiter_(limiter)
{}

LimitQueue::~LimitQueue() = default;

void LimitQueue::add(const std::shared_ptr<CachedKey>& key, bool fresh,
                     LimitWaiter& waiter) noexcept
{
    try {
        if (Batch* batch = open_batch(*key)) {
            batch->add(key, fresh, waiter);
        } else {
            add_to_new_batch(key, fresh, waiter);
        }
    } catch (...) {
        waiter.on_limit_loss(Loss::not_sent);
    }
}

// The script reads all accounts before it writes, so none may be in a command
// twice: a second key of an account, or a newer record of the same key, goes
// into a later command, which is executed after this one. nullptr if none of
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
        key.account->batch < first ? 0 : key.account->batch - first + 1;
    for (; index < open_.size(); ++index) {
        if (!open_[index]->full()) {
            return open_[index];
        }
    }
    return nullptr;
}

void LimitQueue::add_to_new_batch(const std::shared_ptr<CachedKey>& key,
                                  bool fresh, LimitWaiter& waiter)
{
    std::list<Batch> added;
    Batch& batch = added.emplace_back(*this, numbers_ + 1);
    open_.push_back(&batch);
    try {
        batch.add(key, fresh, waiter);
    } catch (...) {
        open_.pop_back();
        throw;
    }
    ++numbers_;
    batch.set_owner(added.begin());
    batches_.splice(batches_.end(), added);
    link_.defer(batch);  // may send it on the spot
}

// The batch is sent: nothing is added to it any more. Batches are sent in the
// order they were opened in.
void LimitQueue::close(Batch& batch) noexcept
{
    while (!open_.empty() && open_.front()->number() <= batch.number()) {
        open_.pop_front();
    }
}

}  // namespace petstore::store
