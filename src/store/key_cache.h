#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "../api/digest.h"
#include "../api/key.h"
#include "../api/limit.h"

namespace petstore::store {

// A monotonic clock in milliseconds, the worker's own.
using Monotonic = std::uint64_t;

class AccountIndex;

// What one worker knows of an account that Redis has spoken of. What every
// request looks at comes first: with many accounts none of it is in the
// processor's caches, and each line of them has to be fetched.
struct Account {
    explicit Account(std::string name) : id(std::move(name)) {}
    ~Account();
    Account(const Account&) = delete;
    Account& operator=(const Account&) = delete;

    const std::string id;
    AccountIndex* index = nullptr;  // that finds it, as long as both live

    // The limiter's batch that it was last part of, and where: LimitQueue's.
    std::uint64_t batch = 0;
    std::size_t place = 0;

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

// The accounts that keys in memory and requests work with, by id. It does not
// keep them: an account leaves the index when the last of these lets it go.
class AccountIndex {
public:
    AccountIndex() = default;
    ~AccountIndex();
    AccountIndex(const AccountIndex&) = delete;
    AccountIndex& operator=(const AccountIndex&) = delete;

    // Made if there is none.
    std::shared_ptr<Account> get(const std::string& id);

    // With the accounts.
    std::size_t bytes() const noexcept;

private:
    friend struct Account;
    void remove(const Account& account) noexcept;

    struct Hash {
        std::size_t operator()(std::string_view id) const noexcept
        {
            return std::hash<std::string_view>()(id);
        }
    };

    // The names are those in the accounts.
    std::unordered_map<std::string_view, std::weak_ptr<Account>, Hash>
        accounts_;
    std::size_t account_bytes_ = 0;
};

// What a worker needs of a key's record, in little memory.
class CachedRecord : public api::KeyRights {
public:
    CachedRecord() = default;
    explicit CachedRecord(const api::KeyRecord& record)
        : api::KeyRights(record), texts_(record.id + record.plan),
          id_size_(record.id.size())
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
// requests at work with it.
struct CachedKey {
    std::shared_ptr<Account> account;
    api::Limits limits;
    std::int64_t epoch = 0;
    bool used = false;  // since it came up for leaving: KeyCache's
    CachedRecord record;
};

// One worker's memory of API keys, by digest: bounded by their size with all
// that belongs to them. What has not been used since it last came up leaves
// first (CLOCK, or second chance, which approximates least recently used
// without moving an entry at each use).
// A record stays until it is pushed out; that it is still true is what
// the limiter checks by its epoch with every request. That a key is unknown is
// remembered for less than a second, since nothing would tell of its creation.
class KeyCache {
public:
    static constexpr Monotonic kUnknownFor = 800;
    static constexpr Monotonic kUnknownAgain = 100;

    explicit KeyCache(std::size_t max_bytes);
    KeyCache(const KeyCache&) = delete;
    KeyCache& operator=(const KeyCache&) = delete;

    std::shared_ptr<CachedKey> find(const api::Digest& digest);
    // Not kept if it alone takes too much of the memory.
    void put(const api::Digest& digest, std::shared_ptr<CachedKey> key);
    void erase(const api::Digest& digest) noexcept;

    bool is_unknown(const api::Digest& digest, Monotonic now) noexcept;
    void put_unknown(const api::Digest& digest, Monotonic now);

    // The account's state, shared by all of its keys.
    std::shared_ptr<Account> account(const std::string& id)
    {
        return accounts_.get(id);
    }

    std::size_t size() const noexcept { return keys_.size(); }
    std::size_t bytes() const noexcept;

private:
    // The digest is uniform already.
    struct Hash {
        std::size_t operator()(const api::Digest& digest) const noexcept;
    };
    using Keys =
        std::unordered_map<api::Digest, std::shared_ptr<CachedKey>, Hash>;

    void make_room() noexcept;
    void drop(Keys::iterator entry) noexcept;

    const std::size_t max_bytes_;
    const std::size_t max_unknown_;
    // Before the keys, which hold accounts.
    AccountIndex accounts_;
    Keys keys_;
    std::size_t key_bytes_ = 0;
    std::size_t hand_ = 0;  // the bucket of the map that came up last
    std::unordered_map<api::Digest, Monotonic, Hash> unknown_;
};

}  // namespace petstore::store
