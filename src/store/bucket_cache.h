#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bucket.h"
#include "version.h"

namespace petstore::store {

// One worker's memory of buckets, bounded by their size. A bucket holds for as
// long as no pet is changed: Version::changes marks it. New pets only make it
// too short, which the last id tells.
//
// Buckets are numbered without gaps, so an array by their numbers finds them
// with one wait for memory. It may take a quarter of the memory; what lies
// behind that, in a catalogue of some 40 times the size that fits, is not kept.
class BucketCache {
public:
    explicit BucketCache(std::size_t max_bytes) noexcept : max_bytes_(max_bytes)
    {}
    BucketCache(const BucketCache&) = delete;

    // nullptr for none that is true at `now`. It may lack the newest pets.
    // Stays valid until put() or clear().
    const Bucket* find(std::int64_t number, const Version& now) noexcept;

    // Whether the bucket is there with all pets that there are at `now`.
    bool has(std::int64_t number, const Version& now) noexcept;

    // `changes` was told before the bucket was read. Not kept when there is no
    // memory for it.
    void put(std::int64_t number, Bucket bucket, std::int64_t changes) noexcept;
    void clear() noexcept;

    // Array included.
    std::size_t bytes() const noexcept
    {
        return bucket_bytes_ + slots_.capacity() * sizeof(Slot);
    }

    // How many buckets of a usual size fit into `bytes`.
    static std::size_t usual_number(std::size_t bytes) noexcept;

private:
    struct Slot {
        std::unique_ptr<const Bucket> bucket;
        std::int64_t changes = 0;
        bool used = false;  // since the hand last came by
    };

    void drop(Slot& slot) noexcept;
    void make_room() noexcept;

    const std::size_t max_bytes_;
    std::size_t bucket_bytes_ = 0;
    std::vector<Slot> slots_;  // by number
    std::size_t hand_ = 0;     // the next slot to be looked at for room
};

// How many pets of a bucket there are at `now`.
int rows_at(std::int64_t number, const Version& now) noexcept;

}  // namespace petstore::store
