#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "../../api/pet.h"
#include "../../redis/in_flight.h"
#include "../../redis/link.h"
#include "../../redis/scheduler.h"
#include "../schema.h"
#include "pet_batch.h"

namespace petstore::store {

// A request that waits for its pet to be created. Must stay alive until one of
// the functions is called; exactly one is, once.
class CreateWaiter {
public:
    virtual void on_created(const CreatedPets::Created& created) noexcept = 0;
    virtual void on_create_no_reply(redis::NoReply cause) noexcept = 0;

protected:
    ~CreateWaiter() = default;
};

// Batches all creates of one event-loop iteration: one call of a script for
// those with an Idempotency-Key, and one for the others. In a Cluster, a create
// with a new Idempotency-Key fails while the catalogue's slot moves; other
// creates do not. One per Storage.
class CreateQueue {
public:
    // All borrowed. `link` leads to the catalogue.
    CreateQueue(redis::Link& link, redis::Scheduler& scheduler,
                const Schema& schema) noexcept;
    ~CreateQueue();
    CreateQueue(const CreateQueue&) = delete;

    struct Request {
        const api::NewPet& pet;
        std::string_view account;  // the scope of the Idempotency-Key
        const std::optional<Idempotency>& idempotency;
        redis::Link* durable;  // instead of `link`, if not nullptr
    };

    // May call the waiter before it returns if the request cannot be queued.
    void add(const Request& request, CreateWaiter& waiter) noexcept;

private:
    class Batch;

    void add_to_new_batch(const Request& request, CreateWaiter& waiter);

    redis::Link& link_;
    redis::Scheduler& scheduler_;
    const Schema& schema_;
    redis::InFlight<Batch> batches_;  // open ones, and those without a reply
    std::vector<Batch*> open_;        // not sent yet, oldest first
};

}  // namespace petstore::store
