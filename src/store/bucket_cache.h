#pragma once

#include <cstdint>
#include <unordered_map>

#include "bucket.h"
#include "version.h"

namespace petstore::store {

// One worker's memory of buckets, bounded by their size. A bucket holds for as
// long as no pet is changed: Version::changes marks it. New pets only make it
// too short, which the last id tells.
class BucketCache {
public:
    explicit BucketCache(std::size_t max_bytes);
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

    std::size_t bytes() const noexcept { return bytes_; }

    // How many buckets of a usual size fit into `bytes`.
    static std::size_t usual_number(std::size_t bytes) noexcept;

private:
    struct Entry {
        std::int64_t number;
        std::int64_t changes;
        bool used;       // since it was last spared
        Entry* younger;  // nullptr for the youngest
        Bucket bucket;
    };

    static std::size_t size_of(const Bucket& bucket) noexcept;
    void make_room() noexcept;
    void append(Entry& entry) noexcept;
    Entry& take_oldest() noexcept;

    const std::size_t max_bytes_;
    std::size_t bytes_ = 0;
    std::unordered_map<std::int64_t, Entry> entries_;
    Entry* oldest_ = nullptr;
    Entry* youngest_ = nullptr;
};

// How many pets of a bucket there are at `now`.
int rows_at(std::int64_t number, const Version& now) noexcept;

}  // namespace petstore::store
