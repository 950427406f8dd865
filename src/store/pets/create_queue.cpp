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
          once_(request.idempotency.has_value()), pets_(queue.schema_)
    {}

    bool suits(const Request& request) const noexcept
    {
        return durable_ == request.durable
               && once_ == request.idempotency.has_value();
    }

    // False if the batch is full, or another request in it has this
    // Idempotency-Key: that one must come first.
    bool add(const Request& request, CreateWaiter& waiter)
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
            start(durable_ != nullptr ? *durable_ : queue_.link_,
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
        for (CreateWaiter* waiter : waiters_) {
            waiter->on_created(created.next());
        }
    }

    void on_no_result(redis::NoReply cause) noexcept override
    {
        const auto self = queue_.batches_.take(*this);
        for (CreateWaiter* waiter : waiters_) {
            waiter->on_create_no_reply(cause);
        }
    }

    CreateQueue& queue_;
    redis::Link* const durable_;
    const bool once_;
    PetBatch pets_;
    std::vector<CreateWaiter*> waiters_;  // one per pet, in the same order
};

CreateQueue::CreateQueue(redis::Link& link, redis::Scheduler& scheduler,
                         const Schema& schema) noexcept
    : link_(link), scheduler_(scheduler), schema_(schema)
{}

CreateQueue::~CreateQueue() = default;

void CreateQueue::add(const Request& request, CreateWaiter& waiter) noexcept
{
    try {
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
        waiter.on_create_no_reply(redis::NoReply::not_sent);
    }
}

void CreateQueue::add_to_new_batch(const Request& request, CreateWaiter& waiter)
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

}  // namespace petstore::store
