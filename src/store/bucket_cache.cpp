#include "bucket_cache.h"

#include <algorithm>
#include <new>
#include <utility>

namespace petstore::store {

namespace {

// An entry's node in the map, and the allocator's share.
constexpr std::size_t kOverhead = 96;

// A look-up ends at the array more often, before it comes to an entry that no
// processor's cache has.
constexpr float kLoadFactor = 0.25F;

// Of 128 pets with names of some 20 characters, and what belongs to them.
constexpr std::size_t kUsualSize = 4096;

}  // namespace

int rows_at(std::int64_t number, const Version& now) noexcept
{
    return static_cast<int>(std::clamp<std::int64_t>(
        now.last_id - number * kBucketSize, 0, kBucketSize));
}

BucketCache::BucketCache(std::size_t max_bytes) : max_bytes_(max_bytes)
{
    entries_.max_load_factor(kLoadFactor);
}

std::size_t BucketCache::usual_number(std::size_t bytes) noexcept
{
    return bytes / kUsualSize;
}

std::size_t BucketCache::size_of(const Bucket& bucket) noexcept
{
    return bucket.bytes() + kOverhead;
}

const Bucket* BucketCache::find(std::int64_t number,
                                const Version& now) noexcept
{
    const auto found = entries_.find(number);
    if (found == entries_.end() || found->second.changes != now.changes) {
        return nullptr;
    }
    found->second.used = true;
    return &found->second.bucket;
}

bool BucketCache::has(std::int64_t number, const Version& now) noexcept
{
    const Bucket* bucket = find(number, now);
    return bucket != nullptr && bucket->size() >= rows_at(number, now);
}

void BucketCache::put(std::int64_t number, Bucket bucket,
                      std::int64_t changes) noexcept
{
    const std::size_t size = size_of(bucket);
    if (size > max_bytes_ / 4) {
        return;
    }
    const auto found = entries_.find(number);
    if (found != entries_.end()) {
        bytes_ -= size_of(found->second.bucket);
        found->second.bucket = std::move(bucket);
        found->second.changes = changes;
    } else {
        try {
            append(entries_
                       .emplace(number, Entry{number, changes, false, nullptr,
                                              std::move(bucket)})
                       .first->second);
        } catch (const std::bad_alloc&) {
            return;
        }
    }
    bytes_ += size;
    make_room();
}

// The second-chance form of "least recently used": a read marks an entry, which
// costs less than to move it, and what is marked is spared once.
void BucketCache::make_room() noexcept
{
    while (bytes_ > max_bytes_) {
        Entry& oldest = take_oldest();
        if (std::exchange(oldest.used, false)) {
            append(oldest);
        } else {
            bytes_ -= size_of(oldest.bucket);
            entries_.erase(oldest.number);
        }
    }
}

void BucketCache::append(Entry& entry) noexcept
{
    (youngest_ != nullptr ? youngest_->younger : oldest_) = &entry;
    youngest_ = &entry;
}

BucketCache::Entry& BucketCache::take_oldest() noexcept
{
    Entry& entry = *oldest_;
    oldest_ = std::exchange(entry.younger, nullptr);
    if (oldest_ == nullptr) {
        youngest_ = nullptr;
    }
    return entry;
}

void BucketCache::clear() noexcept
{
    entries_.clear();
    oldest_ = youngest_ = nullptr;
    bytes_ = 0;
}

}  // namespace petstore::store
