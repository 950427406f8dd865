#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../api/pet.h"

namespace petstore::store {

// Pets lie in buckets, lists of 128 records of consecutive ids: ids start at 1,
// leave none out and are never deleted, so that a record's place is its id. A
// record is "<status letter><category digits>:<name>".
inline constexpr std::int64_t kBucketSize = 128;

inline std::int64_t bucket_of(api::PetId id) noexcept
{
    return (id - 1) / kBucketSize;
}
inline std::int64_t position_of(api::PetId id) noexcept
{
    return (id - 1) % kBucketSize;
}

std::string encode_record(const api::NewPet& pet);

// nullopt for what is no record. The views point into `record`.
std::optional<api::PetView> decode_record(api::PetId id,
                                          std::string_view record) noexcept;

// The same without checks, for a record that decode_record() has accepted.
api::PetView split_record(api::PetId id, std::string_view record) noexcept;

}  // namespace petstore::store
