#pragma once

#include <cstdint>
#include <memory>

#include "../bounded_cache.h"
#include "../mix.h"
#include "bucket.h"
#include "change_log.h"
#include "version.h"

namespace petstore::store {

// One worker's cached buckets. A bucket is valid until one of its pets is
// changed. New pets only make it too short, which Version::count shows.
class BucketCache {
public:
    // Borrows `log`.
    BucketCache(std::size_t max_bytes, const ChangeLog& log) noexcept
        : log_(log), cache_(max_bytes)
    {}

    // The cached bucket if it is valid at `now`, else nullptr. It may lack the
    // newest pets. The pointer is valid until put() or clear().
    const Bucket* find(std::int64_t number, const Version& now) noexcept;

    // Whether the bucket is cached with all pets that exist at `now`.
    bool has(std::int64_t number, const Version& now) noexcept;

    // `changes` was read before the bucket. Not kept if memory runs out.
    void put(std::int64_t number, Bucket bucket, std::int64_t changes) noexcept;

    void clear() noexcept { cache_.clear(); }
    std::size_t bytes() const noexcept { return cache_.bytes(); }

private:
    struct Entry {
        std::unique_ptr<const Bucket> bucket;
        std::int64_t changes = 0;
    };
    struct Hash {
        std::size_t operator()(std::int64_t number) const noexcept
        {
            return mix(static_cast<std::uint64_t>(number));
        }
    };
    struct Bytes {
        std::size_t operator()(const Entry& entry) const noexcept
        {
            return entry.bucket->bytes();
        }
    };

    const ChangeLog& log_;
    BoundedCache<std::int64_t, Entry, Hash, Bytes> cache_;
};

// How many pets a bucket has at `now`.
int rows_at(std::int64_t number, const Version& now) noexcept;

}  // namespace petstore::store
