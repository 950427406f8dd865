#include "pet_batch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "../../api/text.h"
#include "../scripts.h"

namespace petstore::store {

namespace {

constexpr std::int64_t kIdempotencySeconds = 24 * 60 * 60;

// Elements before the answers for the pets with an Idempotency.
constexpr std::size_t kHead = 3;

constexpr std::int64_t kNew = 0;
constexpr std::int64_t kKeyReused = -1;

// The statuses of a batch, in the order in which they first appear.
class Statuses {
public:
    void add(char letter) noexcept
    {
        if (std::find(begin(), end(), letter) == end()) {
            letters_[size_++] = letter;
        }
    }
    const char* begin() const noexcept { return letters_.data(); }
    const char* end() const noexcept { return letters_.data() + size_; }
    std::size_t size() const noexcept { return size_; }

private:
    std::array<char, 3> letters_{};
    std::size_t size_ = 0;
};

}  // namespace

bool is_taken(const redis::Reply& error) noexcept
{
    return error.is_error() && error.text().substr(0, 6) == "TAKEN ";
}

void PetBatch::add(const api::NewPet& pet)
{
    pets_.push_back({encode_record(pet), {}, {}});
}

bool PetBatch::add(const api::NewPet& pet, std::string_view account,
                   const Idempotency& idempotency)
{
    std::string once = schema_->idempotency(account, idempotency.key);
    if (std::any_of(pets_.begin(), pets_.end(),
                    [&](const Pet& other) { return other.once == once; })) {
        return false;
    }
    pets_.push_back({encode_record(pet), std::move(once),
                     api::to_hex(api::bytes_of(idempotency.body))});
    return true;
}

void PetBatch::remove_first(std::size_t count)
{
    pets_.erase(pets_.begin(),
                pets_.begin() + static_cast<std::ptrdiff_t>(count));
}

redis::Command PetBatch::create(bool rewrites) const
{
    return std::move(create_without_end(rewrites).replication_id());
}

redis::Command PetBatch::create_at(Position position, api::PetId id) const
{
    return std::move(create_without_end(false).own(
        "=" + std::to_string(position) + ":" + std::to_string(id)));
}

redis::Command PetBatch::create_without_end(bool rewrites) const
{
    Statuses statuses;
    for (const Pet& pet : pets_) {
        statuses.add(pet.record[0]);
    }
    redis::Command command(
        scripts().create_pets,
        static_cast<std::int64_t>(3 + statuses.size() + (once() ? size() : 0)));
    command.key(schema_->pet_count())
        .key(schema_->changes())
        .key(schema_->segments());
    for (const char letter : statuses) {
        command.key(schema_->status_bitmap(static_cast<api::Status>(letter)));
    }
    if (!once()) {
        command.arg(schema_->catalogue()).arg("");
        for (const Pet& pet : pets_) {
            command.arg(pet.record);
        }
        return command;
    }
    for (const Pet& pet : pets_) {
        command.arg(pet.once);
    }
    command.arg(schema_->catalogue()).arg(kIdempotencySeconds);
    for (const Pet& pet : pets_) {
        command.arg(pet.record).arg(pet.body);
    }
    if (rewrites) {
        command.arg("1");
    }
    return command;
}

CreatedPets PetBatch::read(const redis::Reply& reply) const noexcept
{
    return {reply, size(), once()};
}

bool PetBatch::once() const noexcept
{
    return !pets_.empty() && !pets_.front().once.empty();
}

CreatedPets::CreatedPets(const redis::Reply& reply, std::size_t pets,
                         bool once) noexcept
    : reply_(reply), once_(once)
{
    if (reply.is_error()) {
        error_ = &reply;
        valid_ = true;
        return;
    }
    if (reply.size() < 2 || !reply[0].is(redis::Type::integer)
        || !reply[1].is(redis::Type::integer) || reply[0].integer() < 0) {
        return;
    }
    count_ = static_cast<std::size_t>(reply[0].integer());
    if (reply.size() > 2 && reply[2].is_error()) {
        error_ = &reply[2];
    }
    valid_ = check(pets);
}

// Pets without an individual answer, and those whose answer is kNew, are new:
// either created, or stopped by the error.
bool CreatedPets::check(std::size_t pets) const noexcept
{
    if (count_ > 0 && reply_[1].integer() <= 0) {
        return false;
    }
    if (once_ ? reply_.size() != kHead + pets : reply_.size() > kHead) {
        return false;
    }
    std::size_t fresh = pets;
    if (once_) {
        for (std::size_t i = kHead; i < reply_.size(); ++i) {
            const redis::Reply& answer = reply_[i];
            if (!answer.is_error()
                && (!answer.is(redis::Type::integer)
                    || answer.integer() < kKeyReused)) {
                return false;
            }
            fresh -= answer.is_error() || answer.integer() != kNew ? 1 : 0;
        }
    }
    return error_ == nullptr ? count_ == fresh : count_ < fresh;
}

CreatedPets::Created CreatedPets::next() noexcept
{
    using Result = Created::Result;
    if (!valid_) {
        return {Result::unclear};
    }
    if (once_ && !reply_.is_error()) {
        const redis::Reply& answer = reply_[kHead + place_++];
        if (answer.is_error()) {
            return {Result::failed, 0, &answer};
        }
        if (answer.integer() == kKeyReused) {
            return {Result::key_reused};
        }
        if (answer.integer() != kNew) {
            return {Result::replayed, answer.integer()};
        }
    }
    if (created_ == count_) {
        return {Result::failed, 0, error_};
    }
    return {Result::created,
            reply_[1].integer() + static_cast<api::PetId>(created_++)};
}

}  // namespace petstore::store
