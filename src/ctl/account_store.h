#pragma once

#include <cstdint>
#include <string_view>

#include "../api/limit.h"
#include "../store/schema.h"
#include "redis_session.h"

namespace petstore::ctl {

// What an account has used, and its ban.
struct AccountUsage {
    struct Counter {
        std::int64_t used = 0;
        api::Millis reset = 0;  // 0: no window is open
    };
    Counter minute;
    Counter day;
    std::int64_t strikes = 0;
    std::int64_t bans = 0;
    api::Millis banned_until = 0;  // 0: no ban
};

// The state, strikes and bans of accounts in Redis. They never share a script
// or a transaction with a key record, which may be on another server. Throws
// Failure.
class AccountStore {
public:
    AccountStore(RedisSession& redis, const store::Schema& schema)
        : redis_(redis), schema_(schema)
    {}

    // Makes every worker read the account's key records again. `written` is the
    // epoch of the record that was changed, 0 for none.
    void touch(std::string_view account, std::int64_t written);

    AccountUsage usage(std::string_view account);

    // Returns whether a ban was running. Takes effect with touch().
    bool unban(std::string_view account);

private:
    RedisSession& redis_;
    const store::Schema& schema_;
};

}  // namespace petstore::ctl
