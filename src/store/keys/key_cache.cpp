#include "key_cache.h"

#include <algorithm>
#include <cstring>

#include "../container_bytes.h"

namespace petstore::store {

namespace {

// The most used entries that one eviction spares. Bounds its time if all are
// used.
constexpr int kMaxSpared = 16;

// 1/kRefusedShare of the memory is reserved for refused keys, so a flood of
// invented keys cannot evict known ones.
constexpr std::size_t kRefusedShare = 16;

std::size_t bytes_of(const CachedKey& key) noexcept
{
    using Entry = std::pair<api::Digest, std::shared_ptr<CachedKey>>;
    return kNodeBytes<
               Entry> + kSharedBytes<CachedKey> + key.record.text_bytes();
}

}  // namespace

std::size_t CachedRecord::text_bytes() const noexcept
{
    return heap_bytes(texts_);
}

std::size_t DigestHash::operator()(const api::Digest& digest) const noexcept
{
    std::size_t hash;
    std::memcpy(&hash, digest.data(), sizeof(hash));
    return hash;
}

KeyCache::KeyCache(std::size_t max_bytes)
    : max_bytes_(max_bytes - max_bytes / kRefusedShare),
      max_refused_bytes_(max_bytes / kRefusedShare)
{
    // Short chains: each step along one is a cache miss.
    keys_.max_load_factor(0.5F);
}

std::size_t KeyCache::bytes() const noexcept
{
    return key_bytes_ + table_bytes(keys_) + accounts_.bytes();
}

std::shared_ptr<CachedKey> KeyCache::find(const api::Digest& digest)
{
    const auto found = keys_.find(digest);
    if (found == keys_.end()) {
        return nullptr;
    }
    found->second->used = true;
    return found->second;
}

void KeyCache::put(const api::Digest& digest, std::shared_ptr<CachedKey> key)
{
    forget_refused(digest);
    const std::size_t size = bytes_of(*key);
    if (size > max_bytes_ / 4) {
        const auto replaced = keys_.find(digest);
        if (replaced != keys_.end()) {
            drop(replaced);
        }
        return;
    }
    const auto [entry, added] = keys_.try_emplace(digest);
    if (!added) {
        key_bytes_ -= bytes_of(*entry->second);
        key->used = true;
    }
    entry->second = std::move(key);
    key_bytes_ += size;
    while (bytes() > max_bytes_ && !keys_.empty()) {
        make_room();
    }
}

void KeyCache::make_room() noexcept
{
    for (int spared = 0;;) {
        hand_ = hand_ + 1 < keys_.bucket_count() ? hand_ + 1 : 0;
        for (auto entry = keys_.begin(hand_); entry != keys_.end(hand_);
             ++entry) {
            if (entry->second->used && spared++ < kMaxSpared) {
                entry->second->used = false;
                continue;
            }
            return drop(keys_.find(entry->first));
        }
    }
}

void KeyCache::drop(Keys::iterator entry) noexcept
{
    key_bytes_ -= bytes_of(*entry->second);
    keys_.erase(entry);
}

void KeyCache::erase(const api::Digest& digest, const CachedKey& stale) noexcept
{
    const auto found = keys_.find(digest);
    if (found != keys_.end() && found->second.get() == &stale) {
        drop(found);
    }
}

// Includes two pointers in the array of buckets.
std::size_t KeyCache::bytes_of_refused(const RefusedKey& key) noexcept
{
    using Entry = std::pair<api::Digest, Refused>;
    const std::size_t id =
        key.id ? kSharedBytes<std::string> + heap_bytes(*key.id) : 0;
    return kNodeBytes<Entry> + 2 * sizeof(void*) + id;
}

void KeyCache::forget_refused(const api::Digest& digest) noexcept
{
    const auto found = refused_.find(digest);
    if (found != refused_.end()) {
        refused_bytes_ -= bytes_of_refused(found->second.key);
        refused_.erase(found);
    }
}

const RefusedKey* KeyCache::find_refused(const api::Digest& digest,
                                         Monotonic now) noexcept
{
    const auto found = refused_.find(digest);
    if (found == refused_.end()) {
        return nullptr;
    }
    if (now < found->second.until) {
        return &found->second.key;
    }
    // Let one request look the key up again. Concurrent requests use the cached
    // result, or all of them would query Redis at once.
    found->second.until = now + kRefusedAgain;
    return nullptr;
}

void KeyCache::put_refused(const api::Digest& digest, RefusedKey key,
                           Monotonic now)
{
    forget_refused(digest);
    // All entries are less than a second old, so clearing the map is as good as
    // any eviction order.
    const std::size_t size = bytes_of_refused(key);
    if (refused_bytes_ + size > max_refused_bytes_) {
        refused_.clear();
        refused_bytes_ = 0;
    }
    refused_[digest] = {std::move(key), now + kRefusedFor};
    refused_bytes_ += size;
}

}  // namespace petstore::store
