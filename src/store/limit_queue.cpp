#include "limit_queue.h"

#include <vector>

namespace petstore::store {

namespace {

// Accounts of one command. They take Redis some 3 µs each, during which it does
// nothing else.
constexpr std::size_t kMaxAccounts = 128;

// A busy worker's turn seldom brings more.
constexpr std::size_t kUsualRequests = 16;

}  // namespace

// Owns itself until all of its waiters were told.
class LimitQueue::Batch final : public Deferred, public ReplyHandler {
public:
    explicit Batch(LimitQueue& queue) : queue_(queue), number_(queue.batches_)
    {
        keys_.reserve(kUsualRequests);
        questions_.reserve(kUsualRequests);
        waiters_.reserve(kUsualRequests);
    }

    bool has(const Account& account) const noexcept
    {
        return account.batch == number_;
    }

    bool has(const Account& account, const CachedKey& key) const noexcept
    {
        return has(account) && keys_[account.place].get() == &key;
    }

    bool full() const noexcept { return keys_.size() == kMaxAccounts; }

    // `key` is in the batch, or its account is not and the batch is not full.
    void add(const std::shared_ptr<CachedKey>& key, bool fresh,
             LimitWaiter& waiter)
    {
        Account& account = *key->account;
        if (!has(account)) {
            keys_.push_back(key);
            questions_.resize(keys_.size());
            questions_.back() = {account.id, key->epoch, key->limits, 0, false};
            account.batch = number_;
            account.place = keys_.size() - 1;
        }
        Limiter::Question& question = questions_[account.place];
        waiters_.push_back({&waiter, account.place, question.requests});
        ++question.requests;
        question.fresh |= fresh;
    }

    void emit() noexcept override
    {
        if (queue_.open_ == this) {
            queue_.open_ = nullptr;
        }
        bool lost = false;
        lost_ = &lost;
        send(false);
        if (lost) {
            return;
        }
        lost_ = nullptr;
        for (const Waiting& waiting : waiters_) {
            waiting.waiter->on_limit_sent();
        }
    }

    void on_reply(const resp::Reply& reply) noexcept override
    {
        if (reply.is_error()) {
            if (reply.error_code() == "NOSCRIPT" && !eval_) {
                return send(true);
            }
            for (const Waiting& waiting : waiters_) {
                waiting.waiter->on_limit_error(reply);
            }
            delete this;
            return;
        }
        std::vector<Limiter::Answer> answers;
        try {
            answers = Limiter::parse_answers(reply, questions_);
        } catch (...) {
            // Out of memory: invalid answers, which refuse.
        }
        static const Limiter::Answer none;
        for (std::size_t i = 0; i < answers.size(); ++i) {
            if (answers[i].result == Limiter::Answer::Result::decided) {
                keys_[i]->epoch = answers[i].epoch;
            }
        }
        for (const Waiting& waiting : waiters_) {
            waiting.waiter->on_limit(
                answers.empty() ? none : answers[waiting.place], waiting.index);
        }
        delete this;
    }

    void on_loss(Loss loss) noexcept override
    {
        if (lost_ != nullptr) {
            *lost_ = true;
        }
        for (const Waiting& waiting : waiters_) {
            waiting.waiter->on_limit_loss(loss);
        }
        delete this;
    }

private:
    struct Waiting {
        LimitWaiter* waiter;
        std::size_t place;   // of its account
        std::int64_t index;  // among the requests of its account
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
    std::vector<std::shared_ptr<CachedKey>> keys_;
    std::vector<Limiter::Question> questions_;  // on them, in their order
    std::vector<Waiting> waiters_;
    bool eval_ = false;
    bool* lost_ = nullptr;  // told when send() fails on the spot
};

void LimitQueue::add(const std::shared_ptr<CachedKey>& key, bool fresh,
                     LimitWaiter& waiter)
{
    batch_for(*key->account, *key).add(key, fresh, waiter);
}

// The script reads all accounts before it writes, so none may be in a command
// twice: a second key of an account, or a newer record of the same key, goes
// into the next command, which is executed after this one.
LimitQueue::Batch& LimitQueue::batch_for(const Account& account,
                                         const CachedKey& key)
{
    if (open_ != nullptr
        && (open_->has(account) ? open_->has(account, key) : !open_->full())) {
        return *open_;
    }
    ++batches_;
    auto batch = std::make_unique<Batch>(*this);
    link_.defer(*batch);
    open_ = batch.release();
    return *open_;
}

}  // namespace petstore::store
