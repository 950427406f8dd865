#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "../../api/limit.h"
#include "../clock.h"

namespace petstore::store {

class AccountIndex;

// What one worker knows about an account: Redis's last decision, and the
// denials that Redis does not know about yet. Fields that every request reads
// come first: with many accounts none of this is in the CPU's caches, so each
// cache line counts.
class Account {
public:
    explicit Account(std::string id) : id_(std::move(id)) {}
    ~Account();
    Account(const Account&) = delete;
    Account& operator=(const Account&) = delete;

    const std::string& id() const noexcept { return id_; }

    // Remembers a decision of Redis on a command sent at `sent`. Expiry counts
    // from `sent`, so a cached denial never outlasts Redis's.
    void remember(const api::Decision& decision, Monotonic sent,
                  Monotonic now) noexcept;

    // The last rate known, for responses that cannot ask Redis.
    const api::RateView* last_rate() const noexcept
    {
        return has_rate_ ? &rate_ : nullptr;
    }

    // The denial that Redis would repeat: it was confirmed less than a second
    // ago, has not ended, and was decided with these limits (another key of the
    // account may have others).
    std::optional<api::Decision> denial(const api::Limits& limits,
                                        Monotonic now) const noexcept;

    // Whether a remembered denial should be confirmed in the background, so
    // that constant traffic never waits for it.
    bool needs_confirmation(Monotonic now) const noexcept;

    // The next request has to ask Redis.
    void forget_denial() noexcept { denied_ = false; }

    // --- denials that Redis has to count ------------------------------------

    // Counts one. True if Redis must hear of it before the client is answered:
    // as far as this worker knows, it exceeds the ban threshold.
    bool count_denial(const api::BanPolicy& policy, const api::Limits& limits,
                      Monotonic now) noexcept;

    // The denials to report now, which count as reported.
    std::int64_t take_denials() noexcept;
    // They did not reach Redis.
    void return_denials(std::int64_t denials) noexcept { denials_ += denials; }
    bool has_denials() const noexcept { return denials_ != 0; }

    // Redis has counted so many in the current window.
    void set_reported(std::int64_t denials, Monotonic now) noexcept;

private:
    friend class AccountIndex;
    friend class LimitQueue;
    friend class DenialReporter;

    const std::string id_;
    AccountIndex* index_ = nullptr;  // finds this account while both live

    // LimitQueue's: the last batch that includes the account.
    std::uint64_t batch_ = 0;

    api::RateView rate_;
    bool has_rate_ = false;

    bool denied_ = false;  // the rest of the denial is valid
    api::Decision denial_;
    Monotonic denied_until_ = 0;
    Monotonic confirmed_ = 0;        // when the command was sent
    Monotonic denial_now_read_ = 0;  // when `denial_.now` was received

    std::int64_t denials_ = 0;  // not reported
    std::int64_t reported_ = 0;
    Monotonic reported_at_ = 0;

    // DenialReporter's.
    bool report_in_flight_ = false;
    bool report_queued_ = false;
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
    std::shared_ptr<Account> get(const std::string& id);

    // Including the accounts.
    std::size_t bytes() const noexcept;

private:
    friend class Account;
    void remove(const Account& account) noexcept;

    struct Hash {
        std::size_t operator()(std::string_view id) const noexcept
        {
            return std::hash<std::string_view>()(id);
        }
    };

    // The ids are the accounts' own.
    std::unordered_map<std::string_view, std::weak_ptr<Account>, Hash>
        accounts_;
    std::size_t account_bytes_ = 0;
};

}  // namespace petstore::store
