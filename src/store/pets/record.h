#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../../api/pet.h"

namespace petstore::store {

// Pets are stored in buckets: lists of 128 records with consecutive ids. Ids
// start at 1, have no gaps and are never deleted, so the id gives the bucket
// and the position. A record is "<status letter><category digits>:<name>".
//
// The scripts in store/lua contain the same 128.
inline constexpr std::int64_t kBucketSize = 128;

inline std::int64_t bucket_of(api::PetId id) noexcept
{
    return (id - 1) / kBucketSize;
}
inline std::int64_t position_of(api::PetId id) noexcept
{
    return (id - 1) % kBucketSize;
}

// The inverse of bucket_of() and position_of().
inline api::PetId id_at(std::int64_t bucket, std::int64_t position) noexcept
{
    return bucket * kBucketSize + position + 1;
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
