#include "bucket_cache.h"

#include <algorithm>
#include <new>
#include <utility>

namespace petstore::store {

namespace {

// The allocator's share of a bucket's two blocks.
constexpr std::size_t kOverhead = 32;

// Of 128 pets with names of some 20 characters, and what belongs to them.
constexpr std::size_t kUsualSize = 4096;

// The array may take one part in so many of the memory.
constexpr std::size_t kMaxIndexShare = 4;

std::size_t size_of(const Bucket& bucket) noexcept
{
    return bucket.bytes() + kOverhead;
}

}  // namespace

int rows_at(std::int64_t number, const Version& now) noexcept
{
    return static_cast<int>(std::clamp<std::int64_t>(
        now.last_id - number * kBucketSize, 0, kBucketSize));
}

std::size_t BucketCache::usual_number(std::size_t bytes) noexcept
{
    return bytes / kUsualSize;
}

const Bucket* BucketCache::find(std::int64_t number,
                                const Version& now) noexcept
{
    const auto index = static_cast<std::size_t>(number);
    if (index >= slots_.size()) {
        return nullptr;
    }
    Slot& slot = slots_[index];
    if (slot.bucket == nullptr || slot.changes != now.changes) {
        return nullptr;
    }
    slot.used = true;
    return slot.bucket.get();
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
    const auto index = static_cast<std::size_t>(number);
    if (size > max_bytes_ / 4
        || index >= max_bytes_ / kMaxIndexShare / sizeof(Slot)) {
        return;
    }
    try {
        if (index >= slots_.size()) {
            slots_.resize(index + 1);
        }
        auto kept = std::make_unique<const Bucket>(std::move(bucket));
        Slot& slot = slots_[index];
        drop(slot);
        slot.bucket = std::move(kept);
        slot.changes = changes;
    } catch (const std::bad_alloc&) {
        return;
    }
    bucket_bytes_ += size;
    make_room();
}

void BucketCache::drop(Slot& slot) noexcept
{
    if (slot.bucket != nullptr) {
        bucket_bytes_ -= size_of(*slot.bucket);
        slot.bucket = nullptr;
    }
}

// CLOCK, which approximates least recently used: a read marks its slot, which
// costs less than to move it, and what is marked is spared once.
void BucketCache::make_room() noexcept
{
    while (bytes() > max_bytes_ && bucket_bytes_ > 0) {
        hand_ = hand_ < slots_.size() ? hand_ : 0;
        Slot& slot = slots_[hand_++];
        if (!std::exchange(slot.used, false)) {
            drop(slot);
        }
    }
}

void BucketCache::clear() noexcept
{
    slots_ = std::vector<Slot>();
    bucket_bytes_ = 0;
    hand_ = 0;
}

}  // namespace petstore::store
