#include "vacancy_check.h"

#include "failure.h"
#include "selection.h"

namespace petstore::store {

void Reader::VacancyCheck::begin() noexcept
{
    sending_ = true;
    try {
        const auto first_pet = owner_.catalogue_.get(1);
        const auto last_id = owner_.catalogue_.last_id();
        sent_ = 2;
        owner_.link_.send(first_pet, *this);
        owner_.link_.send(last_id, *this);
    } catch (...) {
        error_ = failure_of(Loss::not_sent, false);
    }
    sending_ = false;
    end_if_complete();
}

void Reader::VacancyCheck::on_reply(const resp::Reply& reply) noexcept
{
    const bool first = seen_++ == 0;
    try {
        if (!error_) {
            first ? take_first_pet(reply) : take_last_id(reply);
        }
    } catch (...) {
        error_ = failure_of(Loss::not_sent, false);
    }
    end_if_complete();
}

void Reader::VacancyCheck::on_loss(Loss loss) noexcept
{
    ++seen_;
    error_ = failure_of(loss, false);
    end_if_complete();
}

void Reader::VacancyCheck::take_first_pet(const resp::Reply& reply)
{
    if (is_wrong_type(reply)) {
        error_ = owner_.damaged(owner_.catalogue_.schema().bucket(0));
    } else if (reply.is_error()) {
        error_ = failure_of(reply, false);
    } else {
        has_pets_ = !reply.is(resp::Type::nil);
    }
}

void Reader::VacancyCheck::take_last_id(const resp::Reply& reply)
{
    const auto name = owner_.catalogue_.schema().last_pet_id();
    if (is_wrong_type(reply)) {
        error_ = owner_.damaged(name);
    } else if (reply.is_error()) {
        error_ = failure_of(reply, false);
    } else {
        const auto last_id = Version::parse(reply, reply).last_id;
        if (last_id < 0 || (has_pets_ && last_id == 0)) {
            error_ = owner_.damaged(name);
        }
    }
}

void Reader::VacancyCheck::end_if_complete() noexcept
{
    if (sending_ || seen_ < sent_) {
        return;
    }
    owner_.vacancy_check_ = nullptr;
    const std::unique_ptr<VacancyCheck> self(this);
    for (const Waiting& waiting : waiters_) {
        ReadResult result = failure_of(Loss::not_sent, false);
        try {
            result = answer(waiting.key);
        } catch (...) {
            // Out of memory.
        }
        waiting.waiter->on_read(result);
    }
}

// As of when the request was told of no pets, whatever was created since.
ReadResult Reader::VacancyCheck::answer(const ReadKey& key) const
{
    if (error_) {
        return *error_;
    }
    if (key.is_pet()) {
        return no_such_pet();
    }
    return std::shared_ptr<const Answer>(
        Selection(key, {}, owner_.buckets_).answer());
}

}  // namespace petstore::store
