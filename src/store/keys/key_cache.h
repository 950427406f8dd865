#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "../../api/account.h"
#include "../../api/digest.h"
#include "../../api/key.h"
#include "../../api/limit.h"
#include "../../api/plan.h"
#include "../../redis/link.h"
#include "../accounts/account.h"
#include "../bounded_cache.h"
#include "../clock.h"
#include "../inline_text.h"
#include "../ref.h"

namespace petstore::store {

// The part of the records of a key and its account that workers need, in
// compact form.
class CachedRecord : public api::KeyRights {
public:
    CachedRecord() = default;
    // `plan`: that in force.
    CachedRecord(const api::KeyRecord& key, const api::AccountRecord& account,
                 std::string_view plan)
        : api::KeyRights(static_cast<const api::KeyRights&>(key)),
          id_size_(static_cast<std::uint8_t>(key.id.size())),
          plan_size_(static_cast<std::uint8_t>(plan.size())),
          external_id_size_(
              static_cast<std::uint8_t>(account.external_id.size())),
          texts_{key.id, plan, account.external_id, key.further_scopes}
    {
        disabled |= account.disabled;
    }

    std::string_view id() const noexcept
    {
        return texts_.view().substr(0, id_size_);
    }
    std::string_view plan() const noexcept
    {
        return texts_.view().substr(id_size_, plan_size_);
    }
    std::string_view external_id() const noexcept  // the account's
    {
        const std::size_t start = std::size_t{id_size_} + plan_size_;
        return texts_.view().substr(start, external_id_size_);
    }
    std::string_view further_scopes() const noexcept
    {
        return texts_.view().substr(std::size_t{id_size_} + plan_size_
                                    + external_id_size_);
    }

    // Heap memory that the record owns.
    std::size_t owned_bytes() const noexcept { return texts_.owned_bytes(); }

private:
    // None is longer than 128 bytes.
    std::uint8_t id_size_ = 0;
    std::uint8_t plan_size_ = 0;
    std::uint8_t external_id_size_ = 0;
    InlineText<37> texts_;  // fills 64 bytes
};

// A key with the epoch its records are valid for. Shared by the cache and the
// requests that use it. A worker has one for each key in use, and hardly any of
// them in the CPU's caches: each byte and each pointer to follow counts.
struct CachedKey : RefCounted {
    // The connection_generation() of the accounts' link (its lower half) before
    // the records were read.
    std::uint32_t generation = 0;

    // Of the plans that the limits are from. For PlansInForce only.
    static constexpr std::uint32_t kNoPlans = 0;
    std::uint32_t plans_generation = kNoPlans;

    // Windows whose limit is not the plan's: the key's own, or the account's.
    enum OwnLimits : std::uint8_t { kMinute = 1, kDay = 2, kMonth = 4 };
    std::uint8_t own_limits = 0;

    api::Digest digest{};  // of the API key; set by KeyCache
    Ref<Account> account;
    std::int64_t epoch = 0;
    Monotonic asked = 0;  // when Redis was asked for the records
    api::Limits limits;
    // Of Redis's last decision on a request with this key, for responses that
    // cannot ask Redis. The limit is 0 before the first one.
    api::RateView rate;
    CachedRecord record;

    // A Redis may lose the latest epochs in a failover or restart, and keep the
    // records that they announced: these may be on another Redis, and on the
    // same one they were written before. So a record read before that is read
    // again, with the account's current epoch: before it is used, or, if the
    // limiter's command had been encoded, before its decision is.
    bool may_be_outdated(const redis::Link& accounts) const noexcept;
    // The epoch for commands about the account; 0, which no account has, if
    // the record may be outdated.
    std::int64_t epoch_on(const redis::Link& accounts) const noexcept;

    void set_limits(const api::PlanInForce& plan) noexcept;
    // Replaces those that are the plan's.
    void take_limits(const api::PlanTable& plans) noexcept;
};

// Why a key is not valid, and its id if it has a record.
struct RefusedKey {
    api::KeyRefusal refusal = api::KeyRefusal::none;
    std::shared_ptr<const std::string> id;
};

// Clients choose keys, and so their digests. A secret number keeps them from
// filling one bucket of a large table.
struct DigestHash {
    std::size_t operator()(const api::Digest& digest) const noexcept;

    std::uint64_t secret = 0;
};

// One worker's cache of API keys, by digest. The bound on its memory includes
// everything the entries own, their accounts included.
//
// A record stays until it is evicted; the limiter validates its epoch with
// every request. A refused key (unknown, disabled or expired) is remembered for
// less than a second, because nothing announces that it is valid now.
class KeyCache {
public:
    // In milliseconds: how long a key is refused without asking Redis, and how
    // much longer while one request looks it up again.
    static constexpr Monotonic kRefusedFor = 800;
    static constexpr Monotonic kRefusedAgain = 100;

    explicit KeyCache(std::size_t max_bytes);
    KeyCache(const KeyCache&) = delete;

    Ref<CachedKey> find(const api::Digest& digest) noexcept;
    // Drops the key if it takes more than a quarter of the memory, or if out of
    // memory.
    void put(const api::Digest& digest, Ref<CachedKey> key) noexcept;
    // Removes an outdated record, unless a newer one has replaced it.
    void erase(const api::Digest& digest, const CachedKey& stale) noexcept;

    // nullptr if the key was not refused a moment ago. Valid until the next
    // call.
    const RefusedKey* find_refused(const api::Digest& digest,
                                   Monotonic now) noexcept;
    // At most kRefusedFor after Redis was asked.
    void put_refused(const api::Digest& digest, RefusedKey key,
                     Monotonic until);

    // The account's state, shared by all of its keys.
    Ref<Account> account(std::string_view id) { return accounts_.get(id); }

    std::size_t size() const noexcept { return keys_.size(); }
    std::size_t bytes() const noexcept;

private:
    // The first 48 bits of the digest, by which the table finds a record. The
    // record holds the whole digest; of two keys that share these bits, only
    // one is cached. With more bits, a slot of the table would take 24 bytes
    // instead of 16.
    class Prefix {
    public:
        explicit Prefix(const api::Digest& digest) noexcept
        {
            std::memcpy(bytes_, digest.data(), sizeof(bytes_));
        }
        bool operator==(const Prefix& other) const noexcept
        {
            return bits() == other.bits();
        }
        std::uint64_t bits() const noexcept
        {
            std::uint32_t low;
            std::uint16_t high;
            std::memcpy(&low, bytes_, sizeof(low));
            std::memcpy(&high, bytes_ + sizeof(low), sizeof(high));
            return low | std::uint64_t{high} << 32;
        }

    private:
        unsigned char bytes_[6];
    };
    struct PrefixHash {
        std::size_t operator()(const Prefix& prefix) const noexcept
        {
            return prefix.bits();
        }
    };
    struct KeyBytes {
        std::size_t operator()(const Ref<CachedKey>& key) const noexcept;
    };
    using Keys = BoundedCache<Prefix, Ref<CachedKey>, PrefixHash, KeyBytes>;

    struct Refused {
        RefusedKey key;
        Monotonic until = 0;
        bool looked_up_again = false;
    };
    using RefusedKeys = std::unordered_map<api::Digest, Refused, DigestHash>;

    static std::uint64_t random_secret();
    static std::size_t bytes_of_refused(const RefusedKey& key) noexcept;
    void make_room() noexcept;
    void forget_refused(const api::Digest& digest) noexcept;

    const std::size_t max_bytes_;
    const std::size_t max_refused_bytes_;
    // Declared before the keys, which hold accounts.
    AccountIndex accounts_;
    Keys keys_;
    RefusedKeys refused_{0, DigestHash{random_secret()}};
    std::size_t refused_bytes_ = 0;
};

}  // namespace petstore::store
