#pragma once

#include <string>
#include <vector>

#include "../../api/usage.h"
#include "../../redis/command.h"
#include "../../redis/reply.h"
#include "../schema.h"

namespace petstore::store {

// Reads an account's counters, ban and ledger. Sends nothing.
class UsageCommands {
public:
    explicit UsageCommands(const Schema& schema) : schema_(schema) {}

    // One call, which reads the ledgers of all months from that of `from` to
    // that of `to`; none if to < from.
    redis::Command read(const std::string& account, api::Day from,
                        api::Day to) const;

    // The reply to read(), added to `usage`: its `days` are those of all these
    // months. If its `month` has just begun, this month must be among them.
    // Returns the damaged Redis key, empty if there is none.
    std::string parse(const redis::Reply& reply, const std::string& account,
                      api::Day from, api::Day to,
                      api::AccountUsage& usage) const;

private:
    std::vector<std::string> keys(const std::string& account, api::Day from,
                                  api::Day to) const;

    const Schema& schema_;
};

}  // namespace petstore::store
