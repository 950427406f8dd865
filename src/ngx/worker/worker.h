#pragma once

#include <memory>
#include <vector>

#include "../../ngx_base/timer.h"
#include "../../ngx_redis/cluster.h"
#include "../../ngx_redis/durable_node.h"
#include "../../ngx_redis/event_loop_alarm.h"
#include "../../ngx_redis/event_loop_scheduler.h"
#include "../../ngx_redis/node.h"
#include "../../ngx_redis/sentinel_addresses.h"
#include "../../redis/in_flight.h"
#include "../../service/admin/admin_api_request.h"
#include "../../service/api_request.h"
#include "../../service/get_usage.h"
#include "../../store/accounts/limits_link.h"
#include "../../store/accounts/usage_probe.h"
#include "../../store/plans/plan_publisher.h"
#include "../../store/storage.h"
#include "../config/config.h"
#include "../monitoring/health.h"
#include "../monitoring/metrics.h"
#include "../request/content_request.h"
#include "../request/guarded_request.h"
#include "store_log.h"

namespace petstore::ngx {

// A storage with its log and alarm.
struct WorkerStorage {
    WorkerStorage(const StorageSettings& settings, const MainConf& conf,
                  store::Links redis, redis::Scheduler& scheduler,
                  const store::Clock& clock, WorkerMetrics& metrics,
                  ngx_log_t& worker_log);

    StoreLog log;
    ngx_redis::EventLoopAlarm report_alarm;
    const std::unique_ptr<store::LimitsLink> limits_link;  // with two Redis
    store::Storage storage;
};

// What an admin API needs beside its storage.
struct WorkerAdmin {
    // `redis` has the rights of the admin API; `storage` has the log, and must
    // outlive this object.
    WorkerAdmin(WorkerStorage& storage, store::Links redis,
                const store::Clock& clock, ngx_log_t& log);

    ngx_redis::EventLoopAlarm pause_alarm;
    ngx_redis::EventLoopAlarm list_alarm;
    const std::unique_ptr<store::LimitsLink> limits_link;  // with two Redis
    service::AdminStore store;
};

// Everything in a worker process that outlives a request: its Redis connections
// and caches. Created when the worker starts, destroyed when it exits. The
// module's only global that holds state of requests.
class Worker {
public:
    Worker(const MainConf& conf, ngx_log_t& log);
    ~Worker();
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    // `index` is an index in MainConf::storages.
    store::Storage& storage(std::size_t index) noexcept
    {
        return storages_[index]->storage;
    }

    // `index` is an index in MainConf::admins.
    service::AdminStore& admin(std::size_t index) noexcept
    {
        return admins_[index]->store;
    }

    WorkerMetrics& metrics() noexcept { return metrics_; }
    Readiness& readiness() noexcept { return readiness_; }

    // The link for the creates of a location; nullptr if they need not wait for
    // durability.
    redis::Link* durable_link(const LocConf& conf) noexcept
    {
        return conf.durable ? &durables_[*conf.durable]->link() : nullptr;
    }

    // For the log line of a petstore_cost whose variable is not a number.
    ngx_base::OncePerMinute& cost_line(const LocConf& conf) noexcept
    {
        return cost_lines_[conf.variable_cost];
    }

    static Worker* current() noexcept;

    // nginx's init_process and exit_process. No Worker is created if no
    // location needs one.
    static ngx_int_t start(ngx_cycle_t* cycle) noexcept;
    static void stop(ngx_cycle_t* cycle) noexcept;

private:
    void add_link(const ngx_redis::NodeSettings& settings, const MainConf& conf,
                  ngx_log_t& log);
    std::unique_ptr<ngx_redis::AddressSource>
    addresses_of(const ngx_redis::NodeSettings& settings, const MainConf& conf,
                 ngx_log_t& log);
    // `settings`: StorageSettings or AdminSettings.
    template <typename Settings>
    store::Links links_of(const Settings& settings) const noexcept;
    template <typename Visit>
    void for_each_node(Visit visit);
    void warm_up() noexcept;
    // What one worker does for the whole host.
    void start_host_tasks(const MainConf& conf, const ngx_cycle_t& cycle);
    void run_host_tasks() noexcept;

    // Declared before their users.
    WorkerMetrics metrics_;
    ngx_redis::EventLoopScheduler scheduler_;
    std::vector<std::unique_ptr<ngx_redis::SentinelWatch>> watches_;
    std::vector<std::unique_ptr<ngx_redis::Node>> nodes_;
    std::vector<std::unique_ptr<ngx_redis::Cluster>> clusters_;
    std::vector<redis::Link*> links_;  // by index in MainConf::nodes
    std::vector<std::unique_ptr<ngx_redis::DurableNode>> durables_;
    std::vector<std::unique_ptr<WorkerStorage>> storages_;
    std::vector<std::unique_ptr<WorkerAdmin>> admins_;
    std::vector<std::unique_ptr<store::PlanPublisher>> publishers_;
    std::vector<std::unique_ptr<store::UsageProbe>> probes_;
    WorkerMetrics::LabelReaders label_readers_;
    Readiness readiness_;
    std::vector<ngx_base::OncePerMinute> cost_lines_;  // by variable_cost

    // Connects in the first event-loop iteration, so that a first request waits
    // at most for the rest of the handshake. Not during the worker's start,
    // when its clock is not yet set and other modules may block.
    ngx_base::Timer<Worker, &Worker::warm_up> warm_up_;
    ngx_base::Timer<Worker, &Worker::run_host_tasks> host_tasks_;

public:
    // Declared last, so destroyed first: these requests use the storages and
    // links above.
    redis::InFlight<ContentRequest<service::ApiRequest>> content_requests;
    redis::InFlight<GuardedRequest> guarded_requests;
    redis::InFlight<ContentRequest<service::GetUsage>> usage_requests;
    redis::InFlight<ContentRequest<service::AdminApiRequest>> admin_requests;
};

}  // namespace petstore::ngx
