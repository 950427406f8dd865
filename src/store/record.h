#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../api/pet.h"

namespace petstore::store {

// Pets lie in hash buckets of 128 consecutive ids, field = id mod 128, value =
// "<status letter><category digits>:<name>". Redis packs such a small hash
// into one listpack as long as no value is longer than hash-max-listpack-value
// (64 by default). A longer record lies in the bucket's sibling for long ones;
// the bucket then holds "<status letter>>" in its place, so that one client
// with long names cannot blow up the bucket of 127 other pets.
inline constexpr std::int64_t kBucketSize = 128;
inline constexpr std::size_t kPackedRecordSize = 64;

inline std::int64_t bucket_of(api::PetId id) noexcept
{
    return id / kBucketSize;
}
inline std::int64_t field_of(api::PetId id) noexcept
{
    return id % kBucketSize;
}

std::string encode_record(const api::NewPet& pet);

// The value of a bucket's field that says "see the bucket of long records".
bool is_long_marker(std::string_view record) noexcept;

// nullopt for what is no record. The views point into `record`.
std::optional<api::PetView> decode_record(api::PetId id,
                                          std::string_view record) noexcept;

}  // namespace petstore::store
