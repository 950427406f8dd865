#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../metrics/totals.h"
#include "../../ngx_base/ngx.h"
#include "../../store/accounts/label_reader.h"
#include "../../store/keys/key_cache.h"
#include "../../store/plans/plan_publisher.h"
#include "../worker/zone.h"

namespace petstore::ngx {

struct LocConf;
struct MainConf;
struct RequestInfo;

// This worker's metrics. It has its own slot in the zone while it lives, unless
// the zone is too small for all workers.
class WorkerMetrics final : public metrics::RedisMeters,
                            public store::LabelObserver {
public:
    // `zone` must outlive this object. Throws std::bad_alloc.
    WorkerMetrics(const Zone& zone, const MainConf& conf, ngx_log_t& log);
    ~WorkerMetrics();
    WorkerMetrics(const WorkerMetrics&) = delete;

    metrics::RedisMeter meter(std::string_view name) noexcept override;
    metrics::CacheLookups& caches() noexcept { return slot_->caches; }
    metrics::Counter& bans() noexcept { return slot_->bans; }
    metrics::Counter& damaged_data() noexcept { return slot_->damaged_data; }
    void add_host(const store::HostView& host) noexcept;

    // Reads the labels of busy accounts that are not known yet, or may have
    // changed. The table does not record the store of an account, so every
    // reader tries.
    using LabelReaders = std::vector<std::unique_ptr<store::LabelReader>>;
    void read_labels(const LabelReaders& readers) noexcept;
    void on_names(std::string_view account, std::string_view external_id,
                  std::string_view label) noexcept override;

    // Counts a client's request that is being logged. If it was not in a
    // location of the service but its subrequests were, their verdict counts.
    void count(ngx_http_request_t* r, const RequestInfo& info,
               bool in_service) noexcept;

private:
    void claim_process() noexcept;
    void claim_slot() noexcept;
    void count_response(ngx_http_request_t* r,
                        const RequestInfo& info) noexcept;
    void count_route(const LocConf& conf, std::uint32_t status,
                     std::uint64_t micros) noexcept;
    void count_account(const store::CachedKey& key, std::size_t plan,
                       std::uint64_t now) noexcept;
    std::size_t plan_index(std::string_view plan) const noexcept;

    const Zone zone_;
    // nullptr if no location has petstore_status, or the zone has no room.
    metrics::BusyAccounts* const busy_;
    metrics::Process* process_ = nullptr;
    metrics::Slot* slot_ = nullptr;
    bool owner_ = false;  // of the slot
    // Used if the zone has no room for them.
    std::unique_ptr<metrics::Process> local_process_;
    std::unique_ptr<metrics::Slot> local_slot_;
    std::vector<std::pair<std::string, std::size_t>> plans_;  // name, index
    unsigned uncounted_ = 0;  // requests of accounts not among the busiest
    std::vector<std::size_t> routes_;  // places, by index in MainConf::routes
};

// The sums over all workers of this host. Throws std::bad_alloc.
metrics::Totals totals_of(const Zone& zone);

}  // namespace petstore::ngx
