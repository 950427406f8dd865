#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../../api/pet.h"

namespace petstore::store {

// Where a pet is in the catalogue. Positions start at 1, have no gaps, and are
// in the order of the ids: see PetIds. Pets are never deleted.
using Position = std::int64_t;

// Pets are stored in buckets: lists of 128 records. A record is "<status
// letter><category digits>:<name>".
//
// The scripts in store/lua contain the same 128.
inline constexpr std::int64_t kBucketSize = 128;

inline std::int64_t bucket_of(Position position) noexcept
{
    return (position - 1) / kBucketSize;
}
inline std::int64_t row_of(Position position) noexcept
{
    return (position - 1) % kBucketSize;
}

// The inverse of bucket_of() and row_of().
inline Position position_at(std::int64_t bucket, std::int64_t row) noexcept
{
    return bucket * kBucketSize + row + 1;
}

// Buckets `first` … `last`; empty if `last` < `first`.
struct BucketSpan {
    std::int64_t first = 0;
    std::int64_t last = -1;
};

std::string encode_record(const api::NewPet& pet);

// nullopt for an invalid record. The views point into `record`.
std::optional<api::PetView> decode_record(api::PetId id,
                                          std::string_view record) noexcept;

// The same without checks, for a record that decode_record() has accepted.
api::PetView split_record(api::PetId id, std::string_view record) noexcept;

}  // namespace petstore::store
