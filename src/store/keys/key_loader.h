#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../../api/account.h"
#include "../../api/plan.h"
#include "../../redis/link.h"
#include "../accounts/account_commands.h"
#include "../damage.h"
#include "../event_log.h"
#include "../plans/plans_in_force.h"
#include "../shared_read.h"
#include "../store_links.h"
#include "key_cache.h"
#include "key_commands.h"

namespace petstore::store {

// Receives reports about the records of keys and accounts for the operator.
class KeyLog : public DamageLog, public EventLog {
public:
    virtual void unknown_plan(std::string_view key,
                              std::string_view plan) noexcept = 0;
    // A key's account has no record: the store has the format of an earlier
    // version.
    virtual void not_upgraded(std::string_view account) noexcept = 0;

protected:
    ~KeyLog() = default;
};

// Reads the record of a key, then that of its account, into the cache. Requests
// that need the same key share one lookup and its result, so the limiter can
// decide on all of them with one command. One per Storage.
class KeyLoader {
public:
    // The most lookups in flight, each of which waits for one command at a
    // time, and how many of these may be of unknown keys. A flood of invented
    // keys leaves room for known ones; and known ones, all of which are read
    // again after the connection was lost, leave room for the limiter's calls.
    static constexpr std::size_t kMaxLoads = 3072;
    static constexpr std::size_t kMaxUnknown = 1024;

    // All arguments are borrowed.
    KeyLoader(const Links& links, const Schema& schema, PlansInForce& plans,
              KeyCache& cache, KeyLog& log);
    ~KeyLoader();
    KeyLoader(const KeyLoader&) = delete;

    // The records must not be older than this epoch of the account.
    struct Required {
        std::int64_t epoch = 0;         // 0 accepts any
        std::string_view account = {};  // empty if unknown
        Monotonic now = 0;
    };

    // Calls the waiter exactly once, possibly before returning; with nullptr if
    // there is no such key, or its account was deleted.
    void load(const api::Digest& digest, const Required& required,
              Waiter<Ref<CachedKey>>& waiter) noexcept;

private:
    class Load;
    using Loads =
        SharedReads<Load, Waiter<Ref<CachedKey>>*, api::Digest, DigestHash>;
    class AccountRead;
    using AccountReads =
        SharedReads<AccountRead, Waiter<api::AccountRecord>*, std::string>;

    bool may_start(const Required& required) const noexcept;
    void start(const api::Digest& digest, const Required& required,
               Waiter<Ref<CachedKey>>& waiter);
    void read_account(const std::string& account, Load& load);
    Outcome<api::AccountRecord> take_account(const std::string& account,
                                             const redis::Reply& reply);
    bool knows_plan(const api::KeyRecord& record,
                    const api::AccountRecord& account) const;
    std::uint32_t generation_of(const std::string& account,
                                const Load& load) const noexcept;
    Ref<CachedKey> cache(const Load& load, const api::KeyRecord& record,
                         const api::AccountRecord& account);

    redis::Link& link_;
    const redis::Link& accounts_link_;  // the limiter's
    const KeyCommands keys_;
    const AccountCommands accounts_;
    PlansInForce& plans_;
    KeyCache& cache_;
    KeyLog& log_;
    std::uint64_t started_ = 0;  // lookups
    std::size_t unknown_ = 0;    // lookups of unknown keys in flight
    AccountReads account_reads_;
    Loads loads_;
};

}  // namespace petstore::store
