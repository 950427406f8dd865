#include "key_cache.h"

#include <cstring>

namespace petstore::store {

namespace {

// So many used entries are passed over to make room for one, so that a cache
// full of them does not keep a worker.
constexpr int kMaxChances = 16;

}  // namespace

std::size_t DigestHash::operator()(const api::Digest& digest) const noexcept
{
    std::size_t hash;
    std::memcpy(&hash, digest.data(), sizeof(hash));
    return hash;
}

// Each step along a chain of entries is a wait for memory.
KeyCache::KeyCache()
{
    keys_.max_load_factor(0.5F);
}

std::shared_ptr<CachedKey> KeyCache::find(const api::Digest& digest)
{
    const auto found = keys_.find(digest);
    if (found == keys_.end()) {
        return nullptr;
    }
    found->second.used = true;
    return found->second.key;
}

void KeyCache::put(const api::Digest& digest, std::shared_ptr<CachedKey> key)
{
    unknown_.erase(digest);
    const auto found = keys_.find(digest);
    if (found != keys_.end()) {
        found->second.key = std::move(key);
        found->second.used = true;
        return;
    }
    if (keys_.size() >= kMaxKeys) {
        make_room();
    }
    order_.push_front(digest);
    try {
        keys_.emplace(digest, Entry{std::move(key), order_.begin(), false});
    } catch (...) {
        order_.pop_front();
        throw;
    }
}

void KeyCache::make_room() noexcept
{
    for (int chances = 0;; ++chances) {
        const auto oldest = keys_.find(order_.back());
        if (!oldest->second.used || chances == kMaxChances) {
            order_.pop_back();
            keys_.erase(oldest);
            return;
        }
        oldest->second.used = false;
        order_.splice(order_.begin(), order_, oldest->second.place);
    }
}

void KeyCache::erase(const api::Digest& digest, const CachedKey& stale) noexcept
{
    const auto found = keys_.find(digest);
    if (found != keys_.end() && found->second.key.get() == &stale) {
        order_.erase(found->second.place);
        keys_.erase(found);
    }
}

bool KeyCache::is_unknown(const api::Digest& digest, Monotonic now) noexcept
{
    const auto found = unknown_.find(digest);
    if (found == unknown_.end()) {
        return false;
    }
    if (now < found->second) {
        return true;
    }
    // One request looks again; those beside it go by what was known, or a storm
    // of them would ask Redis all at once.
    found->second = now + kUnknownAgain;
    return false;
}

void KeyCache::put_unknown(const api::Digest& digest, Monotonic now)
{
    // All of them are less than a second old; starting over is as good as any
    // order of leaving.
    if (unknown_.size() >= kMaxUnknown) {
        unknown_.clear();
    }
    unknown_[digest] = now + kUnknownFor;
}

std::shared_ptr<Account> KeyCache::account(const std::string& id)
{
    auto& slot = accounts_[id];
    auto account = slot.lock();
    if (!account) {
        account = std::make_shared<Account>(id);
        slot = account;
    }
    // Accounts whose keys were all pushed out leave an empty slot behind.
    if (accounts_.size() > 2 * kMaxKeys) {
        for (auto i = accounts_.begin(); i != accounts_.end();) {
            i = i->second.expired() ? accounts_.erase(i) : std::next(i);
        }
    }
    return account;
}

}  // namespace petstore::store
