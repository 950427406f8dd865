#pragma once

#include "../../metrics/redis_counters.h"
#include "../../ngx_base/ngx.h"
#include "../../ngx_base/timer.h"
#include "../../store/plans/plan_publisher.h"
#include "../../store/storage.h"

namespace petstore::ngx {

class WorkerMetrics;

// Writes the store's reports to the error log. Logs ids and digests, never an
// API key.
class StoreLog final : public store::StorageLog, public store::PublishLog {
public:
    struct Servers {
        metrics::RedisCounters& accounts;
        metrics::RedisCounters& catalogue;
    };

    // `log` is the cycle's log. All must outlive this object.
    StoreLog(ngx_log_t& log, WorkerMetrics& metrics,
             const Servers& servers) noexcept
        : log_(log), metrics_(metrics), servers_(servers)
    {}

    void damaged(std::string_view redis_key) noexcept override;
    void unknown_plan(std::string_view key,
                      std::string_view plan) noexcept override;
    void not_upgraded(std::string_view account) noexcept override;
    void report(store::Event event) noexcept override;
    void plans_not_published(std::string_view error_code) noexcept override;
    void on_host_seen(const store::HostView& host) noexcept override;
    void account_banned(const store::Account& account,
                        const store::AccountStatus& status) noexcept override;

private:
    ngx_log_t& log_;
    WorkerMetrics& metrics_;
    const Servers servers_;
    // Reports of one kind.
    struct Reports {
        ngx_uint_t count = 0;  // not yet logged
        ngx_base::OncePerSecond line;
    };

    Reports events_[store::kEvents];
    Reports damages_;
    ngx_base::OncePerSecond not_upgraded_;
};

// Logs a ban that this host has caused.
void log_ban(ngx_log_t& log, const store::Account& account,
             const store::AccountStatus& status) noexcept;

}  // namespace petstore::ngx
