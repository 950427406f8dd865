#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "../../api/limit.h"
#include "../clock.h"
#include "../inline_text.h"
#include "../ref.h"

namespace petstore::store {

class AccountIndex;

// Denied requests of an account.
struct DenialCounts {
    std::int64_t all = 0;      // for the account's usage
    std::int64_t strikes = 0;  // those that may lead to a ban
    // The largest minute limit of their keys: no report leads to a ban by the
    // limits of another key than the one denied.
    std::int64_t minute = 0;
    Monotonic since = 0;  // when the oldest strike was counted
};

// How a report of denials to Redis ends.
enum class ReportEnd {
    accepted,
    refused,  // certainly not executed
    unknown,  // perhaps executed
};

// What one worker knows about an account: Redis's last decision, and the
// denials that Redis does not know about yet. With many accounts, hardly any of
// this is in the CPU's caches, so every byte counts: data that few accounts
// need is allocated separately.
class Account : public RefCounted {
public:
    // Milliseconds from when Redis was asked for a decision. Changes by the
    // operator must take effect within a second, so what was found then, about
    // the account or its key, is used for less than that.
    static constexpr Monotonic kDecisionValidFor = 900;

    // Throws std::bad_alloc.
    explicit Account(std::string_view id) : id_(id) {}
    ~Account();

    std::string_view id() const noexcept { return id_.view(); }

    // For Link: hashes to the slot of the account's keys, which contain
    // "{<id>}".
    std::string_view slot_key() const noexcept { return id(); }

    // Remembers Redis's decision on a command for a key of this epoch, sent at
    // `sent`. Expiry counts from `sent`, so a cached denial never outlasts
    // Redis's. If out of memory, a denial is not remembered, and the next
    // request asks Redis.
    void remember(const api::Decision& decision, std::int64_t epoch,
                  Monotonic sent, Monotonic now) noexcept;

    // The denial of a request of this cost that Redis would repeat for a key
    // with these limits, whichever key of the account it was decided for: it
    // was confirmed less than a second ago, has not ended, and was decided for
    // a key of no later epoch (so that a revoked key is not refused as if it
    // were valid).
    std::optional<api::Decision> denial(const api::Limits& limits,
                                        std::int64_t epoch, std::int64_t cost,
                                        Monotonic now) const noexcept;

    // When Redis was asked for that denial.
    Monotonic denial_asked() const noexcept { return denials_->confirmed; }

    // Whether a remembered denial should be confirmed in the background, so
    // that constant traffic never waits for it. Not right after a failed
    // report: the denial then ends unless a later one succeeds.
    bool needs_confirmation(Monotonic now) const noexcept;

    // Makes the next request ask Redis.
    void forget_denial() noexcept
    {
        if (denials_) {
            denials_->denied = false;
        }
    }

    // --- denials to report to Redis ------------------------------------------

    // Counts denials. If out of memory, they are not counted.
    void add_unreported(const DenialCounts& denials) noexcept;

    // Counts a denial. If out of memory, it is not counted.
    void count_denial() noexcept;

    // Counts a denial that may lead to a ban. Returns true if it must be
    // reported to Redis before the client is answered, because as far as this
    // worker knows it exceeds the ban threshold; not right after a failed
    // report. `policy` must outlive the account.
    bool count_strike(const api::BanPolicy& policy, const api::Limits& limits,
                      Monotonic now) noexcept;

    // Returns the denials to report now with this policy. Until
    // settle_denials(), they count as reported. Strikes wait for a report that
    // may lead to a ban, but not longer than its window.
    DenialCounts take_denials(const api::BanPolicy& policy,
                              Monotonic now) noexcept;
    // Ends a report of what take_denials() returned. Refused denials are
    // counted again.
    void settle_denials(const DenialCounts& denials, ReportEnd end,
                        Monotonic now) noexcept;
    bool has_denials() const noexcept
    {
        return denials_
               && (denials_->unreported.all != 0
                   || denials_->unreported.strikes != 0);
    }

    // Sets the number of strikes that Redis has counted in the current window.
    void set_reported(std::int64_t strikes, Monotonic now) noexcept;

    // Heap memory, this object included.
    std::size_t bytes() const noexcept;

private:
    friend class AccountIndex;
    friend class LimitQueue;
    friend class DenialReporter;

    struct Denials {
        bool denied = false;  // the next four are valid
        api::Decision last;
        std::int64_t epoch = 0;
        Monotonic confirmed = 0;  // when the command was sent
        Monotonic now_read = 0;   // when `last.now` was received

        DenialCounts unreported;
        const api::BanPolicy* policy = nullptr;  // of the last strike
        std::int64_t reported = 0;               // strikes
        std::int64_t strikes_in_flight = 0;      // of reports without a reply
        Monotonic reported_at = 0;
        Monotonic paused_until = 0;  // reports, after one that failed

        // Redis counts no strike for longer than a ban policy's window, so none
        // may reach it later than that.
        void drop_old_strikes(std::int64_t window, Monotonic now) noexcept;
    };

    Denials* ensure_denials() noexcept;  // nullptr if out of memory

    // DenialReporter's.
    bool report_in_flight_ = false;
    bool report_queued_ = false;

    // LimitQueue's: the last batch that includes the account, and its index
    // there.
    std::uint8_t batch_index_ = 0;
    std::uint64_t batch_ = 0;

    std::unique_ptr<Denials> denials_;  // since the first denial

    const InlineText<24> id_;

    AccountIndex* index_ = nullptr;  // finds this account while both live
    Account* next_ = nullptr;        // in the index
};

// Finds the accounts that cached keys and requests use, by id. Does not own
// them: an account leaves the index with its last user.
class AccountIndex {
public:
    AccountIndex() = default;
    ~AccountIndex();
    AccountIndex(const AccountIndex&) = delete;
    AccountIndex& operator=(const AccountIndex&) = delete;

    // Creates it if there is none. Throws std::bad_alloc.
    Ref<Account> get(std::string_view id);

    // Includes the accounts, but not the reserved capacity of the vector: that
    // memory is untouched, and counting it when the vector doubles would evict
    // many keys at once.
    std::size_t bytes() const noexcept
    {
        // Of pointers. NOLINTNEXTLINE(bugprone-sizeof-expression)
        return account_bytes_ + chains_.size() * sizeof(Account*);
    }

private:
    friend class Account;

    // The pointer to the account with this id, or the null pointer that ends
    // its chain. There must be at least one chain.
    Account** pointer_to(std::string_view id) noexcept;
    void add_chain();
    void remove(Account& account) noexcept;

    // A hash table whose chains run through the accounts. It grows by linear
    // hashing (W. Litwin, 1980): one chain for each account beyond the number
    // of chains, split off another one. A table that doubles would examine all
    // accounts for one request. mask_ is the next power of two above the number
    // of chains, minus one.
    std::vector<Account*> chains_;
    std::size_t mask_ = 0;
    std::size_t size_ = 0;
    std::size_t account_bytes_ = 0;
};

}  // namespace petstore::store
