#include "worker.h"

#include "../../api/build_version.h"
#include "../../api/digest.h"
#include "../../ngx_base/exception_border.h"
#include "../../ngx_base/str.h"
#include "../../store/random.h"
#include "../../store/scripts.h"
#include "../hooks.h"
#include "../module.h"

namespace petstore::ngx {

namespace {

Worker* current_worker;

class NginxClock final : public store::Clock {
public:
    store::Monotonic monotonic() const noexcept override
    {
        return ngx_current_msec;
    }

    api::Millis host_time() const noexcept override
    {
        const ngx_time_t* time = ngx_timeofday();
        return static_cast<api::Millis>(time->sec) * 1000
               + static_cast<api::Millis>(time->msec);
    }
};

const NginxClock nginx_clock{};

// OpenSSL initializes itself on first use and crashes if memory runs out then,
// so the first use must not be in a request.
void initialize_openssl()
{
    static_cast<void>(store::random_digest());
    static_cast<void>(api::sha256({}));
    store::scripts();
}

// Those of petstore_plan, without the built-in ones.
api::NamedLimits configured_plans(const MainConf& conf)
{
    api::NamedLimits plans;
    for (const auto& [name, limits] : conf.plans.plans()) {
        if (conf.plan_positions.count(name) != 0) {
            plans.emplace(name, limits);
        }
    }
    return plans;
}

// nullptr if there is only one Redis.
std::unique_ptr<store::LimitsLink> make_limits_link(store::Links redis,
                                                    const store::Schema& schema,
                                                    const store::Clock& clock,
                                                    store::EventLog& log)
{
    return redis.is_one_redis() ? nullptr
                                : std::make_unique<store::LimitsLink>(
                                    redis, schema.limits_marker(), clock, log);
}

// Commands for accounts go through the limits link, if there is one.
store::Links links_over(const std::unique_ptr<store::LimitsLink>& limits_link,
                        store::Links redis) noexcept
{
    return {redis.main, limits_link ? *limits_link : redis.accounts};
}

}  // namespace

// A quitting worker still reports denials.
WorkerStorage::WorkerStorage(const StorageSettings& settings,
                             const MainConf& conf, store::Links redis,
                             redis::Scheduler& scheduler,
                             const store::Clock& clock, WorkerMetrics& metrics,
                             ngx_log_t& worker_log)
    : log(worker_log, metrics,
          {metrics.meter(conf.nodes[settings.limit_node].name).redis,
           metrics.meter(conf.nodes[settings.node].name).redis}),
      report_alarm(&worker_log, ngx_base::OnExit::delay),
      limits_link(
          make_limits_link(redis, store::Schema(settings.prefix), clock, log)),
      storage(settings.prefix,
              {links_over(limits_link, redis), scheduler, clock, report_alarm,
               log, metrics.caches(), conf.plans},
              store::MemoryShares(conf.worker_memory))
{}

// Requests wait for both alarms.
WorkerAdmin::WorkerAdmin(WorkerStorage& storage, store::Links redis,
                         const store::Clock& clock, ngx_log_t& log)
    : pause_alarm(&log, ngx_base::OnExit::delay),
      list_alarm(&log, ngx_base::OnExit::delay),
      limits_link(
          make_limits_link(redis, storage.storage.schema, clock, storage.log)),
      store{storage.storage.schema,
            {links_over(limits_link, redis), storage.storage.schema},
            clock,
            service::Pauses(pause_alarm),
            service::ListSemaphore(list_alarm)}
{}

Worker::Worker(const MainConf& conf, ngx_log_t& log)
    : metrics_(Zone(conf.zone), conf, log), scheduler_(log), readiness_(log),
      cost_lines_(conf.variable_costs),
      warm_up_(*this, &log, ngx_base::OnExit::cancel),
      host_tasks_(*this, &log, ngx_base::OnExit::cancel)
{
    initialize_openssl();
    for (const auto& settings : conf.sentinels) {
        watches_.push_back(
            std::make_unique<ngx_redis::SentinelWatch>(settings, log));
    }
    for (const auto& settings : conf.nodes) {
        add_link(settings, conf, log);
    }
    for (const auto& settings : conf.durables) {
        const ngx_redis::NodeSettings& node = conf.nodes[settings.node];
        durables_.push_back(std::make_unique<ngx_redis::DurableNode>(
            node, addresses_of(node, conf, log), settings.durability,
            scheduler_, metrics_.meter(node.name), log));
    }
    for (const auto& settings : conf.storages) {
        storages_.push_back(std::make_unique<WorkerStorage>(
            settings, conf, links_of(settings), scheduler_, nginx_clock,
            metrics_, log));
        const store::Storage& storage = storages_.back()->storage;
        const store::Links& links = storage.links;
        readiness_.add(links.main, storage.schema.pet_count(), storage.schema);
        if (!links.is_one_redis()) {
            readiness_.add(links.accounts, storage.schema.limits_marker(),
                           storage.schema);
        }
    }
    for (const auto& settings : conf.admins) {
        admins_.push_back(std::make_unique<WorkerAdmin>(
            *storages_[settings.storage], links_of(settings), nginx_clock,
            log));
    }
}

void Worker::add_link(const ngx_redis::NodeSettings& settings,
                      const MainConf& conf, ngx_log_t& log)
{
    if (settings.cluster) {
        clusters_.push_back(std::make_unique<ngx_redis::Cluster>(
            settings, scheduler_, metrics_, log));
        links_.push_back(&clusters_.back()->link());
    } else {
        nodes_.push_back(std::make_unique<ngx_redis::Node>(
            settings, addresses_of(settings, conf, log), scheduler_,
            metrics_.meter(settings.name), log));
        links_.push_back(nodes_.back().get());
    }
}

std::unique_ptr<ngx_redis::AddressSource>
Worker::addresses_of(const ngx_redis::NodeSettings& settings,
                     const MainConf& conf, ngx_log_t& log)
{
    if (!settings.sentinels) {
        return host_addresses(settings.host, &log);
    }
    const std::size_t i = *settings.sentinels;
    return std::make_unique<ngx_redis::SentinelAddresses>(conf.sentinels[i],
                                                          *watches_[i], &log);
}

template <typename Settings>
store::Links Worker::links_of(const Settings& settings) const noexcept
{
    return {*links_[settings.node], *links_[settings.limit_node]};
}

template <typename Visit>
void Worker::for_each_node(Visit visit)
{
    const auto each = [&](const auto& nodes) {
        for (const auto& node : nodes) {
            visit(*node);
        }
    };
    each(nodes_);
    each(clusters_);
    each(durables_);
}

// Closes the nodes first: pending commands still use their storage when they
// fail.
Worker::~Worker()
{
    for_each_node([](auto& node) { node.close(); });
    scheduler_.run();
}

void Worker::warm_up() noexcept
{
    for_each_node([](auto& node) { node.warm_up(); });
}

void Worker::start_host_tasks(const MainConf& conf, const ngx_cycle_t& cycle)
{
    const store::Host host = {std::string(ngx_base::view(cycle.hostname)),
                              std::string(ngx_base::view(cycle.conf_file)),
                              api::build_version()};
    const api::NamedLimits plans = configured_plans(conf);
    for (const auto& storage : storages_) {
        const store::Storage& of = storage->storage;
        publishers_.push_back(std::make_unique<store::PlanPublisher>(
            of.links.main, of.schema, nginx_clock, host, plans, storage->log));
        label_readers_.push_back(std::make_unique<store::LabelReader>(
            of.links.main, of.schema, metrics_));
        probes_.push_back(std::make_unique<store::UsageProbe>(
            of.links.accounts, of.schema, storage->log));
    }
    host_tasks_.start(0);
}

// A worker that quits is about to be replaced, perhaps by one with another
// configuration.
void Worker::run_host_tasks() noexcept
{
    constexpr ngx_msec_t kInterval = 5000;
    if (ngx_exiting) {
        return;
    }
    for (const auto& publisher : publishers_) {
        publisher->publish_if_due();
    }
    for (const auto& probe : probes_) {
        probe->probe_if_due();
    }
    metrics_.read_labels(label_readers_);
    host_tasks_.start(kInterval);
}

Worker* Worker::current() noexcept
{
    return current_worker;
}

ngx_int_t Worker::start(ngx_cycle_t* cycle) noexcept
{
    // nullptr if the configuration has no http block
    const auto* conf = static_cast<MainConf*>(
        ngx_http_cycle_get_module_main_conf(cycle, ngx_http_petstore_module));
    // nginx also calls this in the cache manager and cache loader.
    if (conf == nullptr || !conf->in_use || ngx_process == NGX_PROCESS_HELPER) {
        return NGX_OK;
    }
    return ngx_base::guarded(
        cycle->log, static_cast<ngx_int_t>(NGX_ERROR), [&] {
            current_worker = new Worker(*conf, *cycle->log);
            if (ngx_process == NGX_PROCESS_WORKER) {
                current_worker->warm_up_.start(0);
            }
            if (ngx_worker == 0) {
                current_worker->start_host_tasks(*conf, *cycle);
            }
            return static_cast<ngx_int_t>(NGX_OK);
        });
}

void Worker::stop(ngx_cycle_t*) noexcept
{
    delete current_worker;
    current_worker = nullptr;
}

ngx_int_t log_start(ngx_cycle_t* cycle) noexcept
{
    // The same conditions as for nginx's own line about its event method.
    if (ngx_test_config || ngx_process > NGX_PROCESS_MASTER) {
        return NGX_OK;
    }
    const auto* conf = static_cast<const MainConf*>(
        ngx_http_cycle_get_module_main_conf(cycle, ngx_http_petstore_module));
    if (conf != nullptr && conf->has_effect()) {
        ngx_log_error(NGX_LOG_NOTICE, cycle->log, 0, "petstore: version %s",
                      api::build_version());
    }
    return NGX_OK;
}

}  // namespace petstore::ngx
