#pragma once

#include <cstdint>
#include <string>

#include "../../redis/link.h"
#include "../event_log.h"
#include "../schema.h"

namespace petstore::store {

// Tries once per connection to read and write a usage: without the right to,
// no account could be charged from the next day or month in UTC on. Runs in one
// worker per host.
class UsageProbe final : private redis::ReplyHandler {
public:
    // Borrows both, and `link` is that of the accounts.
    UsageProbe(redis::Link& link, const Schema& schema, EventLog& log);

    // Call this every few seconds.
    void probe_if_due() noexcept;

private:
    void on_reply(const redis::Reply& reply) noexcept override;
    void on_no_reply(redis::NoReply cause) noexcept override;
    bool reports(const redis::Reply& error) const noexcept override;

    void end() noexcept;

    redis::Link& link_;
    const std::string name_;
    EventLog& log_;
    int pending_ = 0;      // commands without a reply
    bool failed_ = false;  // one of them, not for a missing rule
    bool refused_ = false;
    bool probed_ = false;  // over the connection `generation_`
    std::uint64_t generation_ = 0;
    bool reported_ = false;
};

}  // namespace petstore::store
