#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../../redis/link.h"
#include "../../redis/script_call.h"
#include "../clock.h"
#include "../schema.h"
#include "host_record.h"

namespace petstore::store {

// A host of a store, as one host sees it. Any program may have written the
// texts.
struct HostView {
    std::string_view name;
    std::string_view configuration;
    std::string_view version;
    std::int64_t seconds = 0;  // for which it still counts
};

class PublishLog {
public:
    virtual void on_host_seen(const HostView& host) noexcept = 0;

    // Redis refuses what a host publishes, with this error. Reported once, and
    // again only after it succeeded.
    virtual void plans_not_published(std::string_view error_code) noexcept = 0;

protected:
    ~PublishLog() = default;
};

// Publishes the plans that this host's configuration defines, for petstorectl:
// requests never read them. Runs in one worker per host.
class PlanPublisher final : private redis::ScriptCall {
public:
    // In milliseconds.
    static constexpr Monotonic kInterval = 60'000;

    // Borrows all but `host`.
    PlanPublisher(redis::Link& link, const Schema& schema, const Clock& clock,
                  const Host& host, const api::NamedLimits& plans,
                  PublishLog& log);

    // Call this every few seconds: publishes at first, every kInterval, and
    // when Redis may have lost what was published.
    void publish_if_due() noexcept;

private:
    bool reports(const redis::Reply&) const noexcept override { return true; }
    void on_result(const redis::Reply& reply) noexcept override;
    void on_no_result(redis::NoReply cause) noexcept override;
    void report_hosts(const redis::Reply& hosts) const noexcept;

    redis::Link& link_;
    const std::string name_;
    const Clock& clock_;
    PublishLog& log_;
    const std::string field_;
    const std::string value_;
    bool publishing_ = false;
    bool published_ = false;  // or refused, at published_at_
    Monotonic published_at_ = 0;
    std::uint64_t generation_ = 0;  // of the connection
    bool refused_ = false;          // reported
};

}  // namespace petstore::store
