#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "../../api/digest.h"
#include "../../api/key.h"
#include "../../api/limit.h"
#include "../accounts/account.h"
#include "../clock.h"

namespace petstore::store {

// The part of a key record that workers need, in compact form.
class CachedRecord : public api::KeyRights {
public:
    CachedRecord() = default;
    explicit CachedRecord(const api::KeyRecord& record)
        : api::KeyRights(static_cast<const api::KeyRights&>(record)),
          texts_(record.id + record.plan), id_size_(record.id.size())
    {}

    std::string_view id() const noexcept
    {
        return std::string_view(texts_).substr(0, id_size_);
    }
    std::string_view plan() const noexcept
    {
        return std::string_view(texts_).substr(id_size_);
    }

    std::size_t text_bytes() const noexcept;  // on the heap

private:
    std::string texts_;  // id and plan
    std::size_t id_size_ = 0;
};

// A key record with the epoch it is valid for. Shared by the cache and the
// requests that use it.
struct CachedKey {
    std::shared_ptr<Account> account;
    api::Limits limits;
    std::int64_t epoch = 0;

    // The last limiter batch with this record, and the position there. For
    // LimitQueue only.
    std::uint64_t batch = 0;
    std::size_t place = 0;

    bool used = false;  // since eviction last passed; for KeyCache only

    // The connection_generation() of the accounts' link (its lower half) before
    // the record was read. For LimitQueue only.
    std::uint32_t generation = 0;
    CachedRecord record;
};

// Why a key is not valid, and its id if it has a record.
struct RefusedKey {
    api::KeyRefusal refusal = api::KeyRefusal::none;
    std::shared_ptr<const std::string> id;
};

// A digest is uniformly distributed, so its first bytes are a good hash.
struct DigestHash {
    std::size_t operator()(const api::Digest& digest) const noexcept;
};

// One worker's cache of API keys, by digest. The bound on its memory includes
// everything the entries own. Evicts by CLOCK (second chance), which
// approximates least recently used without moving an entry at each use.
//
// A record stays until it is evicted; the limiter validates its epoch with
// every request. A refused key (unknown, disabled or expired) is remembered for
// less than a second, because nothing announces that it is valid now.
class KeyCache {
public:
    static constexpr Monotonic kRefusedFor = 800;
    static constexpr Monotonic kRefusedAgain = 100;

    explicit KeyCache(std::size_t max_bytes);
    KeyCache(const KeyCache&) = delete;
    KeyCache& operator=(const KeyCache&) = delete;

    std::shared_ptr<CachedKey> find(const api::Digest& digest);
    // Drops a key that takes more than a quarter of the memory.
    void put(const api::Digest& digest, std::shared_ptr<CachedKey> key);
    // Removes an outdated record, unless a newer one has replaced it.
    void erase(const api::Digest& digest, const CachedKey& stale) noexcept;

    // nullptr if the key was not refused a moment ago. Valid until the next
    // call.
    const RefusedKey* find_refused(const api::Digest& digest,
                                   Monotonic now) noexcept;
    void put_refused(const api::Digest& digest, RefusedKey key, Monotonic now);

    // The account's state, shared by all of its keys.
    std::shared_ptr<Account> account(const std::string& id)
    {
        return accounts_.get(id);
    }

    std::size_t size() const noexcept { return keys_.size(); }
    std::size_t bytes() const noexcept;

private:
    using Keys =
        std::unordered_map<api::Digest, std::shared_ptr<CachedKey>, DigestHash>;

    struct Refused {
        RefusedKey key;
        Monotonic until = 0;
    };
    using RefusedKeys = std::unordered_map<api::Digest, Refused, DigestHash>;

    static std::size_t bytes_of_refused(const RefusedKey& key) noexcept;
    void make_room() noexcept;
    void drop(Keys::iterator entry) noexcept;
    void forget_refused(const api::Digest& digest) noexcept;

    const std::size_t max_bytes_;
    const std::size_t max_refused_bytes_;
    // Declared before the keys, which hold accounts.
    AccountIndex accounts_;
    Keys keys_;
    std::size_t key_bytes_ = 0;
    std::size_t hand_ = 0;  // the hash bucket that eviction examined last
    RefusedKeys refused_;
    std::size_t refused_bytes_ = 0;
};

}  // namespace petstore::store
