#include "key_cache.h"

#include <cstring>

namespace petstore::store {

std::size_t KeyCache::Hash::operator()(const api::Digest& digest) const noexcept
{
    std::size_t hash;
    std::memcpy(&hash, digest.data(), sizeof(hash));
    return hash;
}

std::shared_ptr<CachedKey> KeyCache::find(const api::Digest& digest)
{
    const auto found = keys_.find(digest);
    if (found == keys_.end()) {
        return nullptr;
    }
    order_.splice(order_.begin(), order_, found->second.used);
    return found->second.key;
}

void KeyCache::put(const api::Digest& digest, std::shared_ptr<CachedKey> key)
{
    unknown_.erase(digest);
    const auto found = keys_.find(digest);
    if (found != keys_.end()) {
        found->second.key = std::move(key);
        order_.splice(order_.begin(), order_, found->second.used);
        return;
    }
    if (keys_.size() >= kMaxKeys) {
        keys_.erase(order_.back());
        order_.pop_back();
    }
    order_.push_front(digest);
    try {
        keys_.emplace(digest, Entry{std::move(key), order_.begin()});
    } catch (...) {
        order_.pop_front();
        throw;
    }
}

void KeyCache::erase(const api::Digest& digest) noexcept
{
    const auto found = keys_.find(digest);
    if (found != keys_.end()) {
        order_.erase(found->second.used);
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
