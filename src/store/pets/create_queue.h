#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "../../api/pet.h"
#include "../../redis/in_flight.h"
#include "../../redis/link.h"
#include "../../redis/scheduler.h"
#include "../event_log.h"
#include "../waiter.h"
#include "pet_batch.h"
#include "pet_source.h"

namespace petstore::store {

struct CreatedPet {
    api::PetId id;
    bool replayed;  // created before, with the same Idempotency-Key
};

// Batches all creates of one event-loop iteration: one call of a script for
// those with an Idempotency-Key, and one for the others. In a Cluster, a create
// with a new Idempotency-Key fails while the catalogue's slot moves; other
// creates do not. One per Storage.
class CreateQueue {
public:
    // `scheduler` and `log` are borrowed.
    CreateQueue(const PetSource& source, redis::Scheduler& scheduler,
                EventLog& log) noexcept;
    ~CreateQueue();
    CreateQueue(const CreateQueue&) = delete;

    struct Request {
        const api::NewPet& pet;
        std::string_view account;  // the scope of the Idempotency-Key
        const std::optional<Idempotency>& idempotency;
        redis::Link* durable;  // instead of the source's, if not nullptr
        // The one that came with the limiter's reply. The script checks only
        // the count and the segments, so a damaged version fails the request
        // here.
        const std::optional<Version>& version;
    };

    // Calls the waiter exactly once; before returning, only with a failure.
    void add(const Request& request, Waiter<CreatedPet>& waiter) noexcept;

private:
    class Batch;

    void add_to_new_batch(const Request& request, Waiter<CreatedPet>& waiter);
    Outcome<CreatedPet> outcome_of(const CreatedPets::Created& created) const;
    Failure failure_of_create(const redis::Reply& error) const noexcept;

    const PetSource source_;
    redis::Scheduler& scheduler_;
    EventLog& log_;
    redis::InFlight<Batch> batches_;  // open ones, and those without a reply
    std::vector<Batch*> open_;        // not sent yet, oldest first
};

}  // namespace petstore::store
