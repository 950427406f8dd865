#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "../../redis/alarm.h"
#include "../../redis/in_flight.h"
#include "../../redis/link.h"
#include "../clock.h"
#include "../damage.h"
#include "../keys/key_cache.h"
#include "../waiter.h"
#include "limit_commands.h"

namespace petstore::store {

// Where new bans are logged: once, on the host that caused them.
class BanLog {
public:
    virtual void account_banned(const Account& account,
                                const AccountStatus& status) noexcept = 0;

protected:
    ~BanLog() = default;
};

// Reports to Redis the denials of this worker, many in one command, for the
// usage of their accounts, and so that bans count the denials of all hosts. The
// reply reveals changes by an operator. Refused denials are queued again; those
// that Redis may have counted are not, as usage must not show too many. One per
// Storage.
class DenialReporter final : private redis::Alarm::User {
public:
    // How long denials are collected, in milliseconds.
    static constexpr std::uint64_t kInterval = 500;
    // The same while Redis refuses reports.
    static constexpr std::uint64_t kRetryInterval = 2000;
    // How long a quitting worker, which waits for reports, repeats them.
    static constexpr std::uint64_t kQuitWithin = 5000;
    // The most reports sent at once, and the pause before the next ones, so
    // that the link's queue has room for requests.
    static constexpr std::size_t kMaxAtOnce = 1000;
    static constexpr std::uint64_t kPause = 20;
    // The most accounts queued. Denials of others wait for the account's next
    // report.
    static constexpr std::size_t kMaxQueued = 10'000;

    // All borrowed.
    DenialReporter(redis::Link& link, const LimitCommands& limiter,
                   const Clock& clock, redis::Alarm& alarm,
                   DamageLog& damage_log, BanLog& ban_log);
    ~DenialReporter();
    DenialReporter(const DenialReporter&) = delete;

    // Schedules a report of the account's denials. If out of memory, or too
    // many are scheduled, they are sent with the account's next report.
    void queue(const Ref<CachedKey>& key) noexcept;

    // Sends the report now. Does nothing while a report of the account is in
    // flight. If out of memory, the denials are sent with the account's next
    // report.
    void report(const Ref<CachedKey>& key,
                const api::BanPolicy& policy) noexcept;

    // Sends the report now, for a denied request that is answered only after
    // Redis has counted it, since it may have caused a ban. The result is
    // `decision`, or Redis's decision if Redis would deny another request of
    // the account; never a failure. Calls the waiter once, possibly before
    // this returns, and `log` before that.
    void report_and_wait(const Ref<CachedKey>& key,
                         const api::BanPolicy& policy,
                         const api::Decision& decision,
                         Waiter<api::Decision>& waiter, BanLog& log) noexcept;

    // Sends scheduled reports; the alarm does, too.
    void flush() noexcept;

private:
    class Report;

    void on_alarm() noexcept override { flush(); }
    std::uint64_t interval() const noexcept;
    void schedule(std::uint64_t after) noexcept;
    void on_end(const Ref<CachedKey>& key, ReportEnd end) noexcept;

    redis::Link& link_;
    const LimitCommands& limiter_;
    const Clock& clock_;
    redis::Alarm& alarm_;
    DamageLog& damage_log_;
    BanLog& ban_log_;
    std::deque<Ref<CachedKey>> queued_;
    std::uint64_t flush_at_ = 0;    // if any are queued
    bool refused_ = false;          // the latest report that was not in doubt
    std::uint64_t give_up_at_ = 0;  // once the worker quits
    redis::InFlight<Report> reports_;
};

}  // namespace petstore::store
