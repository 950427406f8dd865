#pragma once

#include <cstdint>
#include <string>

#include "../../api/date.h"
#include "../../api/limit.h"
#include "../key_servers.h"
#include "../operations.h"
#include "../waiter.h"

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
// server. Must stay alive until its operations have ended.
class AccountAdministration {
public:
    // Borrows what `servers` refers to.
    explicit AccountAdministration(const KeyServers& servers) noexcept
        : servers_(servers)
    {}

    // All throw std::bad_alloc, and then call no waiter.
    void now(Waiter<api::UnixTime>& waiter);  // by Redis's clock
    void usage(std::string account, Waiter<AccountUsage>& waiter);

    // Whether the account was banned.
    void unban(std::string account, Waiter<bool>& waiter);

private:
    const KeyServers servers_;
    Operations running_;
};

}  // namespace petstore::store
