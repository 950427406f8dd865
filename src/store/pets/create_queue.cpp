#include "create_queue.h"

#include <algorithm>

#include "../../redis/script_call.h"

namespace petstore::store {

// One call of the script and the requests that it answers.
class CreateQueue::Batch final : public redis::InFlight<Batch>::Item,
                                 public redis::EndOfIterationTask,
                                 private redis::ScriptCall {
public:
    Batch(CreateQueue& queue, const Request& request)
        : queue_(queue), durable_(request.durable),
          once_(request.idempotency.has_value()), pets_(queue.source_.schema())
    {}

    bool suits(const Request& request) const noexcept
    {
        return durable_ == request.durable
               && once_ == request.idempotency.has_value();
    }

    // False if the batch is full, or another request in it has this
    // Idempotency-Key: that one must come first.
    bool add(const Request& request, Waiter<CreatedPet>& waiter)
    {
        if (pets_.full()) {
            return false;
        }
        if (waiters_.size() == waiters_.capacity()) {
            waiters_.reserve(2 * waiters_.size() + 1);
        }
        if (!once_) {
            pets_.add(request.pet);
        } else if (!pets_.add(request.pet, request.account,
                              *request.idempotency)) {
            return false;
        }
        waiters_.push_back(&waiter);
        return true;
    }

    void run() noexcept override
    {
        auto& open = queue_.open_;
        open.erase(std::find(open.begin(), open.end(), this));
        try {
            start(durable_ != nullptr ? *durable_ : queue_.source_.link,
                  pets_.create(durable_ != nullptr));
        } catch (...) {
            on_no_result(redis::NoReply::not_sent);
        }
    }

private:
    void on_result(const redis::Reply& reply) noexcept override
    {
        const auto self = queue_.batches_.take(*this);
        CreatedPets created = pets_.read(reply);
        for (Waiter<CreatedPet>* waiter : waiters_) {
            waiter->on_result(queue_.outcome_of(created.next()));
        }
    }

    void on_no_result(redis::NoReply cause) noexcept override
    {
        const auto self = queue_.batches_.take(*this);
        const Outcome<CreatedPet> lost = failure_of(cause, Purpose::change);
        for (Waiter<CreatedPet>* waiter : waiters_) {
            waiter->on_result(lost);
        }
    }

    CreateQueue& queue_;
    redis::Link* const durable_;
    const bool once_;
    PetBatch pets_;
    std::vector<Waiter<CreatedPet>*>
        waiters_;  // one per pet, in the same order
};

CreateQueue::CreateQueue(const PetSource& source, redis::Scheduler& scheduler,
                         EventLog& log) noexcept
    : source_(source), scheduler_(scheduler), log_(log)
{}

CreateQueue::~CreateQueue() = default;

void CreateQueue::add(const Request& request,
                      Waiter<CreatedPet>& waiter) noexcept
{
    try {
        const auto& version = request.version;
        if (version && version->damage() != Version::Damage::none) {
            return waiter.on_result(source_.damaged(*version));
        }
        // Only the newest one, so that creates with the same Idempotency-Key
        // are executed in the order in which they arrived.
        const auto batch =
            std::find_if(open_.rbegin(), open_.rend(), [&](const Batch* each) {
                return each->suits(request);
            });
        if (batch == open_.rend() || !(*batch)->add(request, waiter)) {
            add_to_new_batch(request, waiter);
        }
    } catch (...) {
        waiter.on_result(failure_of(redis::NoReply::not_sent, Purpose::change));
    }
}

void CreateQueue::add_to_new_batch(const Request& request,
                                   Waiter<CreatedPet>& waiter)
{
    Batch& batch = batches_.start(*this, request);
    try {
        batch.add(request, waiter);
        open_.push_back(&batch);
    } catch (...) {
        batches_.end(batch);
        throw;
    }
    scheduler_.schedule(batch, redis::Scheduler::Stage::batch);
}

Outcome<CreatedPet>
CreateQueue::outcome_of(const CreatedPets::Created& created) const
{
    using Result = CreatedPets::Created::Result;
    switch (created.result) {
    case Result::created:
    case Result::replayed:
        break;
    case Result::failed:
        return failure_of_create(*created.error);
    case Result::key_reused:
        return Failure{{api::ErrorCode::idempotency_key_reused,
                        "This Idempotency-Key was used with another body."}};
    case Result::unclear:
        return Failure{
            {api::ErrorCode::outcome_unknown,
             "The store returned an invalid reply: the pet may or may not exist."},
            true};
    }
    return CreatedPet{created.id, created.result == Result::replayed};
}

Failure CreateQueue::failure_of_create(const redis::Reply& error) const noexcept
{
    if (const auto key = damaged_key(error); !key.empty()) {
        source_.log.damaged(key);
    } else if (is_full(error)) {
        log_.report(Event::catalogue_full);
    }
    return failure_of(error, Purpose::change);
}

}  // namespace petstore::store
