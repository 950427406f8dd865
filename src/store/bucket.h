#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "../api/pet.h"
#include "../resp/reply.h"
#include "record.h"
#include "row_set.h"

namespace petstore::store {

// A bucket as a worker remembers it: the pets 128n + 1 … 128n + size(), in the
// form that answers are put together from fastest. It never changes.
class Bucket {
public:
    // From the reply to Catalogue::bucket(); nullopt if that is no list of
    // records, or has more of them than a bucket.
    static std::optional<Bucket> parse(const resp::Reply& reply);

    int size() const noexcept { return size_; }

    // The rows of a status, of all pets without one.
    RowSet rows(std::optional<api::Status> status) const noexcept;

    // Has the processor fetch what write_pet() will read, without waiting.
    void prefetch(int row) const noexcept
    {
        __builtin_prefetch(text_.data() + ends_[row]);
    }

    // The most bytes that write_pet() writes.
    std::size_t max_json(int row) const noexcept
    {
        return ends_[row + 1] - ends_[row] + api::kMaxPetFrame;
    }

    // Writes the pet as JSON and returns where that ends. `row` < size(); `id`
    // is the pet's.
    char* write_pet(char* to, int row, api::PetId id) const noexcept;

    // The memory it takes, in bytes.
    std::size_t bytes() const noexcept { return sizeof(Bucket) + ends_[size_]; }

private:
    Bucket() = default;

    // Rows one behind the other: the status's letter, the number of the
    // category's digits, these, and the name as JSON text. Row i ends where
    // ends_[i + 1] says.
    std::string text_;
    int size_ = 0;
    std::array<RowSet, 3> statuses_;
    std::array<std::uint32_t, kBucketSize + 1> ends_{};
};

}  // namespace petstore::store
