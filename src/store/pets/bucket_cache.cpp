#include "bucket_cache.h"

#include <algorithm>
#include <new>
#include <utility>

namespace petstore::store {

int rows_at(std::int64_t number, const Version& now) noexcept
{
    return static_cast<int>(std::clamp<std::int64_t>(
        now.count - number * kBucketSize, 0, kBucketSize));
}

const Bucket* BucketCache::find(std::int64_t number,
                                const Version& now) noexcept
{
    const Entry* entry = cache_.find(number);
    return entry != nullptr
                   && log_.unchanged({number, number}, entry->changes,
                                     now.changes)
               ? entry->bucket.get()
               : nullptr;
}

bool BucketCache::has(std::int64_t number, const Version& now) noexcept
{
    const Bucket* bucket = find(number, now);
    return bucket != nullptr && bucket->size() >= rows_at(number, now);
}

void BucketCache::put(std::int64_t number, Bucket bucket,
                      std::int64_t changes) noexcept
{
    try {
        cache_.put(number, {std::make_unique<const Bucket>(std::move(bucket)),
                            changes});
    } catch (const std::bad_alloc&) {
        // Not kept.
    }
}

}  // namespace petstore::store
