#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "../../api/date.h"
#include "../../api/limit.h"
#include "../schema.h"
#include "../steps.h"

namespace petstore::store {

// The counters and the ban of an account.
struct AccountUsage {
    struct Counter {
        std::int64_t used = 0;
        api::Millis reset = 0;  // 0: no open window
    };
    Counter minute;
    Counter day;
    std::int64_t strikes = 0;
    std::int64_t bans = 0;
    api::Millis banned_until = 0;  // 0: not banned
};

// What operations do with the states of accounts.
class AccountSteps : public Steps {
protected:
    AccountSteps(redis::Link& accounts, const Schema& schema) noexcept
        : schema_(schema), accounts_(accounts)
    {}

    // By Redis's clock, which decides when a key expires.
    void now(std::function<void(api::Millis)> next);

    // Makes all workers read the account's key records again. `written` is the
    // epoch of the record that was changed, 0 for none.
    void touch(const std::string& account, std::int64_t written,
               NotInEffectAfter not_in_effect_after,
               const std::function<void()>& next);

    const Schema& schema_;
    redis::Link& accounts_;
};

// Reads and changes the state, strikes and bans of accounts. No script or
// transaction covers them together with a key record, which may be on another
// server. Must stay alive until its operations have ended.
class AccountAdministration {
public:
    // Borrows both.
    AccountAdministration(redis::Link& accounts, const Schema& schema) noexcept
        : accounts_(accounts), schema_(schema)
    {}

    // All throw std::bad_alloc, and then call no waiter.
    void now(Waiter<api::UnixTime>& waiter);  // by Redis's clock
    void usage(std::string account, Waiter<AccountUsage>& waiter);

    // Whether the account was banned.
    void unban(std::string account, Waiter<bool>& waiter);

private:
    redis::Link& accounts_;
    const Schema& schema_;
    Steps::All running_;
};

}  // namespace petstore::store
