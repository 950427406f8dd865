#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "../../api/pet.h"
#include "../../redis/reply.h"
#include "../memory.h"
#include "record.h"
#include "row_set.h"

namespace petstore::store {

// A bucket in a worker's memory, in the form from which responses are built
// fastest: the name is already JSON text. Immutable.
class Bucket {
public:
    // Parses the reply to PetCommands::bucket(). nullopt if an element is not a
    // valid record, or if there are more than kBucketSize.
    static std::optional<Bucket> parse(const redis::Reply& reply);

    int size() const noexcept { return size_; }

    // The rows with this status; all rows for nullopt.
    RowSet rows(std::optional<api::Status> status) const noexcept;

    // Prefetches what write_pet() reads.
    void prefetch(int row) const noexcept
    {
        __builtin_prefetch(text_.data() + ends_[row]);
    }

    // Upper bound of the bytes that write_pet() writes.
    std::size_t max_json(int row) const noexcept
    {
        return ends_[row + 1] - ends_[row] + api::kMaxPetFrame;
    }

    // Writes the pet as JSON and returns the end. `row` must be below size().
    char* write_pet(char* to, int row, api::PetId id) const noexcept;

    // Memory of a bucket allocated with new.
    std::size_t bytes() const noexcept
    {
        return heap_bytes(sizeof(Bucket)) + heap_bytes(text_);
    }

private:
    Bucket() = default;

    // Concatenated rows. Row i is [ends_[i], ends_[i + 1]): status letter,
    // length of the category, category digits, name as JSON text.
    std::string text_;
    int size_ = 0;
    std::array<RowSet, 3> statuses_;
    std::array<std::uint32_t, kBucketSize + 1> ends_{};
};

}  // namespace petstore::store
