#pragma once

#include <string>
#include <string_view>

#include "../../api/plan.h"
#include "../../redis/link.h"
#include "../damage.h"
#include "../shared_read.h"
#include "key_cache.h"
#include "key_commands.h"

namespace petstore::store {

// Receives reports about key records for the operator.
class KeyLog : public DamageLog {
public:
    virtual void unknown_plan(std::string_view key,
                              std::string_view plan) noexcept = 0;
    virtual void look_up_refused() noexcept = 0;

protected:
    ~KeyLog() = default;
};

// Reads key records into the cache. Requests that need the same record share
// one look-up and its record, so the limiter can decide on all of them with one
// command. One per Storage.
class KeyLoader {
public:
    // The most look-ups in flight. The rest of the link's queue is reserved for
    // requests with known keys, so a flood of invented keys cannot fill it.
    static constexpr std::size_t kMaxLoads = 1024;

    // All arguments are borrowed. `accounts` is the link that the limiter uses.
    KeyLoader(redis::Link& link, const redis::Link& accounts,
              const KeyCommands& keys, const api::PlanTable& plans,
              KeyCache& cache, KeyLog& log);
    ~KeyLoader();
    KeyLoader(const KeyLoader&) = delete;

    // The record must not be older than this epoch of its account.
    struct Required {
        std::int64_t epoch = 0;         // 0 accepts any
        std::string_view account = {};  // empty if unknown
    };

    // Calls the waiter exactly once, possibly before returning; with nullptr if
    // there is no such key.
    void load(const api::Digest& digest, const Required& required,
              Waiter<Ref<CachedKey>>& waiter) noexcept;

private:
    class Load;
    using Loads =
        SharedReads<Load, Waiter<Ref<CachedKey>>*, api::Digest, DigestHash>;

    void start(const api::Digest& digest, const Required& required,
               Waiter<Ref<CachedKey>>& waiter);
    std::uint32_t generation_of(const std::string& account,
                                const Load& load) const noexcept;
    Outcome<Ref<CachedKey>> take(const Load& load, const redis::Reply& reply);

    redis::Link& link_;
    const redis::Link& accounts_;
    const KeyCommands& keys_;
    const api::PlanTable& plans_;
    KeyCache& cache_;
    KeyLog& log_;
    Loads loads_;
};

}  // namespace petstore::store
