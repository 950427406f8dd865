#include "limit_batch.h"

namespace petstore::store {

void LimitBatch::add(TurnLink& link, const Limiter& limiter,
                     const std::shared_ptr<CachedKey>& key, bool tell_time,
                     LimitWaiter& waiter)
{
    if (key->open_batch == nullptr) {
        std::unique_ptr<LimitBatch> batch(new LimitBatch(link, limiter, key));
        batch->waiters_.push_back(&waiter);
        batch->tell_time_ = tell_time;
        key->open_batch = batch.get();
        link.defer(*batch.release());
        return;
    }
    key->open_batch->waiters_.push_back(&waiter);
    key->open_batch->tell_time_ |= tell_time;
}

void LimitBatch::emit() noexcept
{
    key_->open_batch = nullptr;
    bool lost = false;
    lost_ = &lost;
    send(false);
    if (lost) {
        return;
    }
    lost_ = nullptr;
    for (LimitWaiter* waiter : waiters_) {
        waiter->on_limit_sent();
    }
}

void LimitBatch::send(bool eval) noexcept
{
    eval_ = eval;
    try {
        const auto command = limiter_.decide(
            {key_->account->id, key_->epoch, key_->limits,
             static_cast<std::int64_t>(waiters_.size()), tell_time_},
            eval);
        link_.send(command, *this);
    } catch (...) {
        on_loss(Loss::not_sent);
    }
}

void LimitBatch::on_reply(const resp::Reply& reply) noexcept
{
    if (reply.is_error()) {
        if (reply.error_code() == "NOSCRIPT" && !eval_) {
            return send(true);
        }
        for (LimitWaiter* waiter : waiters_) {
            waiter->on_limit_error(reply);
        }
        delete this;
        return;
    }
    Limiter::Answer answer;
    try {
        answer = Limiter::parse_answer(reply, key_->limits);
    } catch (...) {
        // Out of memory: an invalid answer, which refuses.
    }
    for (std::size_t i = 0; i < waiters_.size(); ++i) {
        waiters_[i]->on_limit(answer, static_cast<std::int64_t>(i));
    }
    delete this;
}

void LimitBatch::on_loss(Loss loss) noexcept
{
    if (lost_ != nullptr) {
        *lost_ = true;
    }
    for (LimitWaiter* waiter : waiters_) {
        waiter->on_limit_loss(loss);
    }
    delete this;
}

}  // namespace petstore::store
