#pragma once

#include <cstdint>
#include <string_view>

#include "../../api/date.h"
#include "../../api/limit.h"
#include "../command_runner.h"
#include "../schema.h"

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

// Reads and changes the state, strikes and bans of accounts. No script or
// transaction covers them together with a key record, which may be on another
// server. Throws AdministrationError.
class AccountAdministration {
public:
    AccountAdministration(CommandRunner& redis, const Schema& schema)
        : redis_(redis), schema_(schema)
    {}

    api::UnixTime now();  // by Redis's clock

    // Makes all workers read the account's key records again. `written` is the
    // epoch of the record that was changed, 0 for none.
    void touch(std::string_view account, std::int64_t written);

    AccountUsage usage(std::string_view account);

    // Returns whether the account was banned. Takes effect with touch().
    bool unban(std::string_view account);

private:
    CommandRunner& redis_;
    const Schema& schema_;
};

}  // namespace petstore::store
