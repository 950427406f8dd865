#pragma once

#include <list>
#include <memory>
#include <optional>
#include <unordered_map>

#include "../api/error.h"
#include "../api/plan.h"
#include "damage.h"
#include "key_cache.h"
#include "keys.h"
#include "link.h"

namespace petstore::store {

// What a look-up of an API key found. Neither: there is no such key.
struct KeyResult {
    std::shared_ptr<CachedKey> key;
    std::optional<api::Error> error;  // Redis did not tell, or no record
};

// A request that waits for the record of its API key.
class KeyWaiter {
public:
    virtual void on_key(const KeyResult& result) noexcept = 0;

protected:
    ~KeyWaiter() = default;
};

// What an operator has to know of the records that were read.
class KeyLog : public DamageLog {
public:
    virtual void unknown_plan(const api::KeyRecord& record) noexcept = 0;
    virtual void look_up_refused() noexcept = 0;

protected:
    ~KeyLog() = default;
};

// Reads key records into the cache. Requests that need the same record share
// one look-up, and get one record, so that the limiter can decide on all of
// them with one command. One per Store.
class KeyLoader {
public:
    // Look-ups on their way. The rest of the link's queue is left to requests
    // whose key is known: a flood of invented keys must not fill it.
    static constexpr std::size_t kMaxLoads = 1024;

    // All borrowed.
    KeyLoader(Link& link, const Keys& keys, const api::PlanTable& plans,
              KeyCache& cache, KeyLog& log);
    ~KeyLoader();
    KeyLoader(const KeyLoader&) = delete;

    // Calls the waiter exactly once, perhaps before this returns. `epoch`: the
    // record must not be older than this epoch of its account; 0 for any.
    void load(const api::Digest& digest, std::int64_t epoch,
              KeyWaiter& waiter) noexcept;

private:
    class Load;
    using Loads = std::list<Load>;

    Load* find(const api::Digest& digest, std::int64_t epoch) noexcept;
    void start(const api::Digest& digest, std::int64_t epoch,
               KeyWaiter& waiter);
    KeyResult take(const api::Digest& digest, std::int64_t epoch,
                   const resp::Reply& reply);

    Link& link_;
    const Keys& keys_;
    const api::PlanTable& plans_;
    KeyCache& cache_;
    KeyLog& log_;
    Loads loads_;
    std::unordered_map<api::Digest, Load*, DigestHash> newest_;
};

}  // namespace petstore::store
