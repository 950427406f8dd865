#include "key_cache.h"

#include <algorithm>
#include <cstring>

#include "memory.h"

namespace petstore::store {

namespace {

// So many used entries are passed over to make room for one, so that a cache
// full of them does not keep a worker.
constexpr int kMaxChances = 16;

// One part in so many of the memory is for unknown keys, whether there are some
// or not: a flood of invented keys must not push out keys that are known.
constexpr std::size_t kUnknownShare = 16;

// A node of a hash table, by what is in it: a link and the entry.
template <typename Entry>
constexpr std::size_t kNodeBytes = heap_bytes(sizeof(void*) + sizeof(Entry));

template <typename Map>
std::size_t table_bytes(const Map& map) noexcept
{
    return map.bucket_count() * sizeof(void*);
}

// Of std::make_shared: two counters and a table of functions come along.
template <typename T>
constexpr std::size_t kSharedBytes = heap_bytes(16 + sizeof(T));

std::size_t bytes_of(const CachedKey& key) noexcept
{
    return kNodeBytes<std::pair<
               api::Digest,
               std::shared_ptr<
                   CachedKey>>> + kSharedBytes<CachedKey> + key.record.text_bytes();
}

std::size_t bytes_of(const Account& account) noexcept
{
    return kNodeBytes<std::pair<
               std::string_view,
               std::weak_ptr<
                   Account>>> + kSharedBytes<Account> + heap_bytes(account.id);
}

// With two places in the table.
constexpr std::size_t kUnknownBytes =
    kNodeBytes<std::pair<api::Digest, Monotonic>> + 2 * sizeof(void*);

}  // namespace

Account::~Account()
{
    if (index != nullptr) {
        index->remove(*this);
    }
}

AccountIndex::~AccountIndex()
{
    for (const auto& entry : accounts_) {
        if (const auto account = entry.second.lock()) {
            account->index = nullptr;
        }
    }
}

std::shared_ptr<Account> AccountIndex::get(const std::string& id)
{
    const auto found = accounts_.find(id);
    if (found != accounts_.end()) {
        return found->second.lock();
    }
    auto account = std::make_shared<Account>(id);
    accounts_.emplace(account->id, account);
    account->index = this;
    account_bytes_ += bytes_of(*account);
    return account;
}

void AccountIndex::remove(const Account& account) noexcept
{
    account_bytes_ -= bytes_of(account);
    accounts_.erase(accounts_.find(account.id));
}

std::size_t AccountIndex::bytes() const noexcept
{
    return account_bytes_ + table_bytes(accounts_);
}

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
    : max_bytes_(max_bytes - max_bytes / kUnknownShare),
      max_unknown_(
          std::max<std::size_t>(max_bytes / kUnknownShare / kUnknownBytes, 1))
{
    // Each step along a chain of entries is a wait for memory.
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
    unknown_.erase(digest);
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
    for (int chances = 0;;) {
        hand_ = hand_ + 1 < keys_.bucket_count() ? hand_ + 1 : 0;
        for (auto entry = keys_.begin(hand_); entry != keys_.end(hand_);
             ++entry) {
            if (entry->second->used && chances++ < kMaxChances) {
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
    if (unknown_.size() >= max_unknown_) {
        unknown_.clear();
    }
    unknown_[digest] = now + kUnknownFor;
}

}  // namespace petstore::store
