#include "key_cache.h"

#include <utility>

#include "../memory.h"
#include "../mix.h"
#include "../random.h"

namespace petstore::store {

namespace {

// 1/kRefusedShare of the memory is reserved for refused keys, so a flood of
// invented keys cannot evict known ones.
constexpr std::size_t kRefusedShare = 16;

}  // namespace

bool CachedKey::may_be_outdated(const redis::Link& accounts) const noexcept
{
    return generation
           != static_cast<std::uint32_t>(
               accounts.connection_generation(account->slot_key()));
}

std::int64_t CachedKey::epoch_on(const redis::Link& accounts) const noexcept
{
    constexpr std::int64_t kNoEpoch = 0;
    return may_be_outdated(accounts) ? kNoEpoch : epoch;
}

void CachedKey::set_limits(const api::PlanInForce& plan) noexcept
{
    limits = plan.limits;
    own_limits = static_cast<std::uint8_t>((plan.per_minute ? kMinute : 0)
                                           | (plan.per_day ? kDay : 0)
                                           | (plan.per_month ? kMonth : 0));
}

void CachedKey::take_limits(const api::PlanTable& plans) noexcept
{
    const api::Limits& of_plan = plans.limits_of(record.plan());
    if (!(own_limits & kMinute)) {
        limits.minute = of_plan.minute;
    }
    if (!(own_limits & kDay)) {
        limits.day = of_plan.day;
    }
    if (!(own_limits & kMonth)) {
        limits.month = of_plan.month;
    }
}

std::size_t
KeyCache::KeyBytes::operator()(const Ref<CachedKey>& key) const noexcept
{
    return heap_bytes(sizeof(CachedKey)) + key->record.owned_bytes();
}

std::size_t DigestHash::operator()(const api::Digest& digest) const noexcept
{
    std::uint64_t start;
    std::memcpy(&start, digest.data(), sizeof(start));
    return mix(start ^ secret);
}

std::uint64_t KeyCache::random_secret()
{
    std::uint64_t secret;
    std::memcpy(&secret, random_digest().data(), sizeof(secret));
    return secret;
}

KeyCache::KeyCache(std::size_t max_bytes)
    : max_bytes_(max_bytes - max_bytes / kRefusedShare),
      max_refused_bytes_(max_bytes / kRefusedShare), keys_(max_bytes_)
{}

std::size_t KeyCache::bytes() const noexcept
{
    return keys_.bytes() + accounts_.bytes();
}

Ref<CachedKey> KeyCache::find(const api::Digest& digest) noexcept
{
    const Ref<CachedKey>* const found = keys_.find(Prefix(digest));
    if (found == nullptr || (*found)->digest != digest) {
        return nullptr;
    }
    Ref<CachedKey> key = *found;
    make_room();  // accounts grow when they are denied
    return key;
}

void KeyCache::put(const api::Digest& digest, Ref<CachedKey> key) noexcept
{
    forget_refused(digest);
    const Prefix prefix(digest);
    keys_.erase(prefix);
    key->digest = digest;
    keys_.put(prefix, std::move(key), accounts_.bytes());
    make_room();
}

void KeyCache::make_room() noexcept
{
    while (bytes() > max_bytes_ && keys_.size() > 0) {
        keys_.evict_one();
    }
}

void KeyCache::erase(const api::Digest& digest, const CachedKey& stale) noexcept
{
    const Prefix prefix(digest);
    const Ref<CachedKey>* const found = keys_.find(prefix);
    if (found != nullptr && found->get() == &stale) {
        keys_.erase(prefix);
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
    // Let one request look the key up again, for which the others need not wait
    // yet. But only once: while Redis is away, nobody knows whether the key is
    // valid now.
    found->second.until += kRefusedAgain;
    if (std::exchange(found->second.looked_up_again, true)
        || now >= found->second.until) {
        forget_refused(digest);
    }
    return nullptr;
}

void KeyCache::put_refused(const api::Digest& digest, RefusedKey key,
                           Monotonic until)
{
    forget_refused(digest);
    // All entries are less than a second old, so clearing the map is as good as
    // any eviction order.
    const std::size_t size = bytes_of_refused(key);
    if (refused_bytes_ + size > max_refused_bytes_) {
        refused_.clear();
        refused_bytes_ = 0;
    }
    refused_[digest] = {std::move(key), until, false};
    refused_bytes_ += size;
}

}  // namespace petstore::store
