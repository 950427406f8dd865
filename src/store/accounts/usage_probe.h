#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../../redis/link.h"
#include "../../redis/script_call.h"
#include "../schema.h"

namespace petstore::store {

class UsageLog {
public:
    // An access rule forbids writing the usage of accounts. Reported once,
    // until it permits that.
    virtual void usage_forbidden() noexcept = 0;

protected:
    ~UsageLog() = default;
};

// Tries once per connection to write a usage: without the right to, no account
// could be charged from the next day in UTC on. Runs in one worker per host.
class UsageProbe final : private redis::ScriptCall {
public:
    // Borrows both, and `link` is that of the accounts.
    UsageProbe(redis::Link& link, const Schema& schema, UsageLog& log);

    // Call this every few seconds.
    void probe_if_due() noexcept;

private:
    bool reports(const redis::Reply&) const noexcept override { return true; }
    void on_result(const redis::Reply& reply) noexcept override;
    void on_no_result(redis::NoReply cause) noexcept override;

    redis::Link& link_;
    const std::string name_;
    UsageLog& log_;
    bool probing_ = false;
    bool probed_ = false;  // over the connection `generation_`
    std::uint64_t generation_ = 0;
    bool forbidden_ = false;  // reported
};

}  // namespace petstore::store
