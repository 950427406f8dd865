#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "../api/digest.h"
#include "../api/key.h"
#include "../api/limit.h"

namespace petstore::store {

// A monotonic clock in milliseconds, the worker's own.
using Monotonic = std::uint64_t;

// What one worker knows of an account that Redis has spoken of. What every
// request looks at comes first: with many accounts none of it is in the
// processor's caches, and each line of them has to be fetched.
struct Account {
    explicit Account(std::string name) : id(std::move(name)) {}

    const std::string id;

    // The number of the last of the limiter's batches that it is part of:
    // LimitQueue's.
    std::uint64_t batch = 0;

    // The last numbers told, for an answer that has to do without Redis.
    api::RateView rate;
    bool has_rate = false;

    // Redis denied: further requests are denied from memory, as long as this
    // was confirmed a moment ago and the denial lasts.
    bool denied = false;
    api::Decision denial;
    Monotonic denied_until = 0;
    Monotonic confirmed = 0;  // when the command that confirmed it was sent
    Monotonic redis_offset_at = 0;  // when `denial.now` was read

    // Denials given that Redis has not been told of, and those it counted.
    std::int64_t strikes = 0;
    std::int64_t strikes_known = 0;
    Monotonic strikes_known_at = 0;
    bool reporting = false;  // a report is on its way
    bool listed = false;     // in the worker's list of accounts with strikes

    // Redis's clock, as far as it can be told without asking.
    api::Millis redis_now(Monotonic now) const noexcept
    {
        return denial.now + static_cast<api::Millis>(now - redis_offset_at);
    }
};

// A key record with the epoch it is valid for. Shared by the cache and the
// requests at work with it.
struct CachedKey {
    std::shared_ptr<Account> account;
    api::Limits limits;
    std::int64_t epoch = 0;

    // The last of the limiter's batches that this record is part of, and
    // where: LimitQueue's.
    std::uint64_t batch = 0;
    std::size_t place = 0;

    api::KeyRecord record;
};

// A digest is uniform already.
struct DigestHash {
    std::size_t operator()(const api::Digest& digest) const noexcept;
};

// One worker's memory of API keys, by digest: bounded; the oldest goes first,
// unless it was used since it last came up (CLOCK, or second chance, which
// approximates least recently used without moving an entry at each use).
// A record stays until it is pushed out; that it is still true is what
// the limiter checks by its epoch with every request. That a key is unknown is
// remembered for less than a second, since nothing would tell of its creation.
class KeyCache {
public:
    static constexpr std::size_t kMaxKeys = 131072;
    static constexpr std::size_t kMaxUnknown = 65536;
    static constexpr Monotonic kUnknownFor = 800;
    static constexpr Monotonic kUnknownAgain = 100;

    KeyCache();

    std::shared_ptr<CachedKey> find(const api::Digest& digest);
    void put(const api::Digest& digest, std::shared_ptr<CachedKey> key);
    // Forgets a record that is out of date, unless a newer one has taken its
    // place.
    void erase(const api::Digest& digest, const CachedKey& stale) noexcept;

    bool is_unknown(const api::Digest& digest, Monotonic now) noexcept;
    void put_unknown(const api::Digest& digest, Monotonic now);

    // The account's state, shared by all of its keys.
    std::shared_ptr<Account> account(const std::string& id);

private:
    using Order = std::list<api::Digest>;
    struct Entry {
        std::shared_ptr<CachedKey> key;
        Order::iterator place;
        bool used = false;  // since it came up for leaving
    };

    void make_room() noexcept;

    std::unordered_map<api::Digest, Entry, DigestHash> keys_;
    Order order_;  // what comes up for leaving is at the back
    std::unordered_map<api::Digest, Monotonic, DigestHash> unknown_;
    std::unordered_map<std::string, std::weak_ptr<Account>> accounts_;
};

}  // namespace petstore::store
