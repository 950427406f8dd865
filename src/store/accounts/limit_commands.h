#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../../api/limit.h"
#include "../../redis/command.h"
#include "../../redis/reply.h"
#include "../damage.h"
#include "../pets/version.h"
#include "../schema.h"
#include "account.h"

namespace petstore::store {

// Requests of one account for the limiter to decide on.
struct LimitRequest {
    std::string_view account;
    std::int64_t epoch = 0;
    api::Limits limits;
    std::int64_t requests = 1;
    std::int64_t cost = 1;  // of each request, in units
    // The key's record was read a moment ago, so an account that Redis does not
    // have is new rather than lost.
    bool fresh = false;
    // In a Cluster: MarkerReader has confirmed that accounts live there.
    bool placed = false;
    // The catalogue's version is wanted, too.
    bool needs_version = true;
};

// The decision on a LimitRequest.
struct LimitResult {
    enum class Kind {
        decided,
        stale,      // the account has another epoch now: `epoch`
        damaged,    // the account's state is damaged
        elsewhere,  // the accounts are on another Redis, see docs/redis-keys.md
        unplaced,   // they may be: ask MarkerReader, then retry
        alone,      // failed for this account: ask about it alone
        invalid,    // not a reply of this script
    } kind = Kind::invalid;
    std::int64_t epoch = 0;
    std::int64_t admitted = 0;  // the first ones of the requests
    api::Window minute;         // after the decision
    api::Window day;
    api::Window month;
    std::int64_t cost = 1;  // of each request
    api::Millis now = 0;
    api::Millis ban_until = 0;
    // The catalogue's version at the moment of the decision; none if no request
    // of the call needs it, or the catalogue is on another Redis.
    std::optional<Version> version;

    // The decision on one of the requests, counted from 0.
    api::Decision decision(std::int64_t index) const noexcept;
};

// An account after denials were reported.
struct AccountStatus {
    LimitResult::Kind kind = LimitResult::Kind::invalid;
    api::Decision decision;    // on one more request
    std::int64_t strikes = 0;  // counted in the ban's window
    bool new_ban = false;      // this call banned the account
};

// The commands that charge accounts, and the meaning of their replies. One call
// decides on requests of several accounts and charges all windows of each, or
// none. Sends nothing.
class LimitCommands {
public:
    // Whether the catalogue and the key records are on the same Redis: the
    // reply then brings the catalogue's version along, if a request needs it.
    enum class Catalogue { here, elsewhere };

    // Whether all accounts are on one server.
    enum class Accounts { together, cluster };

    explicit LimitCommands(const Schema& schema,
                           Catalogue catalogue = Catalogue::here,
                           Accounts accounts = Accounts::together);

    bool brings_version() const noexcept { return brings_version_; }

    // No two requests may be of the same account. In a Cluster, several
    // requests need a server that allows scripts to access keys of several
    // slots. Throws std::bad_alloc, as all functions here do.
    redis::Command decide(const std::vector<LimitRequest>& requests) const;

    // One result per request, in their order.
    std::vector<LimitResult>
    parse_decisions(const redis::Reply& reply,
                    const std::vector<LimitRequest>& requests) const;

    // Logs that the account's state is damaged.
    void report_damage(std::string_view account, DamageLog& log) const noexcept;

    // Reports denials, and asks for the account's status.
    redis::Command report_denials(std::string_view account, std::int64_t epoch,
                                  const DenialCounts& denials,
                                  const api::BanPolicy& policy) const;
    // `cost` is that of the one more request.
    static AccountStatus parse_status(const redis::Reply& reply,
                                      const api::Limits& limits,
                                      std::int64_t cost);

private:
    redis::Command decide_together(const std::vector<LimitRequest>& requests,
                                   std::string_view packed) const;
    redis::Command
    decide_across_slots(const std::vector<LimitRequest>& requests,
                        std::string_view packed) const;
    bool asks_version(const std::vector<LimitRequest>& requests) const noexcept;

    const Schema& schema_;
    const bool brings_version_;
    const Accounts accounts_;
    const std::string count_;
    const std::string changes_;
};

// Encodes the requests, at least one and no two of one account, as an argument
// of limit.lua, in the layout that Redis reads fastest. Throws std::bad_alloc.
std::string pack_requests(const std::vector<LimitRequest>& requests,
                          bool in_cluster);

}  // namespace petstore::store
