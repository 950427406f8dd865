#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "../../api/digest.h"
#include "../../api/pet.h"
#include "../../redis/command.h"
#include "../../redis/reply.h"
#include "../schema.h"
#include "record.h"

namespace petstore::store {

// Identifies a create, so that repeating it returns the pet of the first one.
struct Idempotency {
    api::Digest key;   // SHA-256 of the Idempotency-Key
    api::Digest body;  // SHA-256 of the request body
};

// The outcome for the pets of a PetBatch, read from the reply to its call. The
// reply is borrowed.
class CreatedPets {
public:
    // `pets`: how many were sent. `once`: they have an Idempotency.
    CreatedPets(const redis::Reply& reply, std::size_t pets,
                bool once) noexcept;

    struct Created {
        enum class Result {
            created,
            replayed,
            key_reused,
            failed,   // nothing was changed
            unclear,  // this cannot be the reply
        } result;
        api::PetId id = 0;                    // if created or replayed
        const redis::Reply* error = nullptr;  // if failed
    };

    // Returns the outcome for each pet in order.
    Created next() noexcept;

    // --- without any Idempotency --------------------------------------------
    bool valid() const noexcept { return valid_; }

    // How many were created, starting from the first.
    std::size_t count() const noexcept { return count_; }

    // Why no further pet was created; nullptr if all were.
    const redis::Reply* error() const noexcept { return error_; }

private:
    bool check(std::size_t pets) const noexcept;

    const redis::Reply& reply_;
    const bool once_;
    const redis::Reply* error_ = nullptr;
    std::size_t count_ = 0;
    std::size_t place_ = 0;    // of the next pet
    std::size_t created_ = 0;  // so far
    bool valid_ = false;
};

// Whether the reply to PetBatch::create_at() is this error.
bool is_taken(const redis::Reply& error) noexcept;

// Pets to create in order with one call of a script. Either all have an
// Idempotency, with no key used twice by one account, or none has.
class PetBatch {
public:
    // Bounds how long the script blocks Redis: 1 to 2 µs per pet.
    static constexpr std::size_t kMaxPets = 128;

    // Borrowed.
    explicit PetBatch(const Schema& schema) : schema_(&schema) {}

    std::size_t size() const noexcept { return pets_.size(); }
    bool full() const noexcept { return size() >= kMaxPets; }

    // Throws std::bad_alloc, and then has not added it.
    void add(const api::NewPet& pet);

    // False if the batch has a pet with this account's key, and was not
    // changed. Throws std::bad_alloc, and then has not added it.
    bool add(const api::NewPet& pet, std::string_view account,
             const Idempotency& idempotency);

    void remove_first(std::size_t count);

    // Borrows from this batch, which must not be empty. With `rewrites`, a
    // repeated request writes, too: see redis::DurableLink.
    redis::Command create(bool rewrites = false) const;

    // The same for pets without Idempotency that must get consecutive positions
    // and ids from these on: fails with an error of is_taken() if others have
    // them.
    redis::Command create_at(Position position, api::PetId id) const;

    // The reply to that call, which is borrowed.
    CreatedPets read(const redis::Reply& reply) const noexcept;

private:
    struct Pet {
        std::string record;
        std::string once;  // name of its idempotency record; empty for none
        std::string body;  // digest in hex
    };

    bool once() const noexcept;
    redis::Command create_without_end(bool rewrites) const;

    const Schema* schema_;
    std::vector<Pet> pets_;
};

}  // namespace petstore::store
