#include "metrics.h"

#include <cerrno>
#include <csignal>
#include <iterator>

#include "../../metrics/busy_accounts.h"
#include "../../metrics/shared_list.h"
#include "../../metrics/slot.h"
#include "../hooks.h"
#include "../module.h"
#include "../nginx/handlers.h"
#include "../nginx/headers.h"
#include "../request/request_info.h"
#include "../worker/worker.h"

namespace petstore::ngx {

namespace {

using metrics::index_of;

// nginx's workers run as one user, so each may send signals to the others.
bool is_alive(std::int64_t process) noexcept
{
    return kill(static_cast<pid_t>(process), 0) == 0 || errno != ESRCH;
}

// Same as $request_time.
std::uint64_t microseconds_of(const ngx_http_request_t* r) noexcept
{
    const ngx_time_t* now = ngx_timeofday();
    const auto passed = (now->sec - r->start_sec) * 1000
                        + (static_cast<ngx_msec_int_t>(now->msec)
                           - static_cast<ngx_msec_int_t>(r->start_msec));
    return passed > 0 ? static_cast<std::uint64_t>(passed) * 1000 : 0;
}

metrics::RequestKind kind_of(const ngx_http_request_t* r,
                             const RequestInfo& info, bool guarded) noexcept
{
    using metrics::RequestKind;
    switch (info.service.operation) {
    case api::Operation::list_pets:
        return RequestKind::list_pets;
    case api::Operation::create_pet:
        return RequestKind::create_pet;
    case api::Operation::get_pet:
        return RequestKind::get_pet;
    case api::Operation::get_usage:
        return RequestKind::usage;
    case api::Operation::none:
        break;
    default:
        return RequestKind::admin;
    }
    if (info.service.wants_document) {
        return RequestKind::openapi;
    }
    if (guarded) {
        return RequestKind::guard;
    }
    return r->method == NGX_HTTP_OPTIONS ? RequestKind::options
                                         : RequestKind::other;
}

bool is_denial(api::LimitStatus status) noexcept
{
    using api::LimitStatus;
    return status == LimitStatus::limited || status == LimitStatus::banned;
}

ngx_int_t log_handler(ngx_http_request_t* r) noexcept
{
    if (r != r->main) {
        return NGX_OK;
    }
    Worker* const worker = Worker::current();
    const RequestInfo* const info = find_request_info(r);
    if (worker != nullptr && info != nullptr) {
        worker->metrics().count(r, *info, belongs_to_service(r));
    }
    return NGX_OK;
}

}  // namespace

WorkerMetrics::WorkerMetrics(const Zone& zone, const MainConf& conf,
                             ngx_log_t& log)
    : zone_(zone), busy_(conf.statuses.empty() ? nullptr : zone.metrics().busy)
{
    const auto names = conf.plans.names();
    metrics::Routes* const routes = zone_.metrics().routes;
    routes_.reserve(conf.routes.size());
    plans_.reserve(names.size());
    {
        const Zone::Lock lock(zone_);
        for (const auto& name : names) {
            plans_.emplace_back(name, zone_.metrics().plans.add(name));
        }
        for (const auto& route : conf.routes) {
            routes_.push_back(routes == nullptr ? metrics::Routes::kSize
                                                : routes->names.add(route));
        }
        claim_process();
        claim_slot();
    }
    if (process_ == nullptr) {
        local_process_ = std::make_unique<metrics::Process>();
        process_ = local_process_.get();
    }
    if (slot_ == nullptr) {
        local_slot_ = std::make_unique<metrics::Slot>();
        slot_ = local_slot_.get();
    }
    if (local_process_ || local_slot_) {
        ngx_log_error(NGX_LOG_WARN, &log, 0,
                      "petstore: \"petstore_zone\" is too small for metrics");
    } else if (routes == nullptr
               && !(conf.routes.empty() && conf.statuses.empty())) {
        ngx_log_error(
            NGX_LOG_WARN, &log, 0,
            "petstore: \"petstore_zone\" is too small for routes and the busiest accounts");
    }
}

WorkerMetrics::~WorkerMetrics()
{
    metrics::set_owner(*process_, 0);
    if (owner_) {
        metrics::set_owner(*slot_, 0);
    }
}

// Claims a free Process, that of a worker that has died, or a new one.
void WorkerMetrics::claim_process() noexcept
{
    process_ = metrics::find_free(zone_.metrics().processes, is_alive);
    if (process_ == nullptr) {
        process_ = zone_.add_process();
    }
    if (process_ == nullptr) {
        return;
    }
    for (auto& links : process_->redis) {
        links.all.reset();
        links.down.reset();
    }
    metrics::set_owner(*process_, ngx_pid);
}

// Claims a Slot in the same way, or else shares one.
void WorkerMetrics::claim_slot() noexcept
{
    slot_ = metrics::find_free(zone_.metrics().slots, is_alive);
    if (slot_ == nullptr) {
        slot_ = zone_.add_slot();
    }
    if (slot_ == nullptr) {
        slot_ = metrics::first(zone_.metrics().slots);
        return;
    }
    owner_ = true;
    metrics::set_owner(*slot_, ngx_pid);
}

metrics::RedisMeter WorkerMetrics::meter(std::string_view name) noexcept
{
    const Zone::Lock lock(zone_);
    const std::size_t index = zone_.metrics().redis.add(name);
    return {slot_->redis[index], process_->redis[index], slot_->redis_duration};
}

std::size_t WorkerMetrics::plan_index(std::string_view plan) const noexcept
{
    for (const auto& [name, index] : plans_) {
        if (name == plan) {
            return index;
        }
    }
    return metrics::PlanNames::kNone;
}

void WorkerMetrics::count_response(ngx_http_request_t* r,
                                   const RequestInfo& info) noexcept
{
    const auto status = static_cast<std::uint32_t>(status_of(r));
    const LocConf* const guarded = guarded_conf(r, info);
    const metrics::RequestKind kind = kind_of(r, info, guarded != nullptr);
    const std::uint64_t micros = microseconds_of(r);
    slot_->requests[index_of(kind)][metrics::status_index(status)].add();
    slot_->request_duration.add(micros);
    if (guarded != nullptr) {
        count_route(*guarded, status, micros);
    }
    if (kind == metrics::RequestKind::create_pet
        && status == NGX_HTTP_SERVICE_UNAVAILABLE
        && info.service.error_code
               == api::code_name(api::ErrorCode::outcome_unknown)) {
        slot_->outcome_unknown.add();
    }
}

void WorkerMetrics::count_route(const LocConf& conf, std::uint32_t status,
                                std::uint64_t micros) noexcept
{
    metrics::Routes* const routes = zone_.metrics().routes;
    if (routes != nullptr && conf.route_index) {
        const std::size_t place = routes_[*conf.route_index];
        routes->requests[place][metrics::status_index(status)].add();
        routes->durations[place].add(micros);
    }
}

// For the busiest accounts. Only one in 16 requests of the others tries to
// enter a full table, to limit contention for its lock.
void WorkerMetrics::count_account(const store::CachedKey& key, std::size_t plan,
                                  std::uint64_t now) noexcept
{
    using Counted = metrics::BusyAccounts::Counted;
    constexpr unsigned kOneOf = 16;
    if (busy_ == nullptr) {
        return;
    }
    const std::string_view account = key.account->id();
    const auto index = static_cast<std::uint32_t>(plan);
    const Counted counted = busy_->count(account, index, now);
    if (counted == Counted::no_but_there_is_room
        || (counted == Counted::no && ++uncounted_ % kOneOf == 0)) {
        const Zone::Lock lock(zone_);
        busy_->add(account, key.record.external_id(), index, now);
    }
}

void WorkerMetrics::count(ngx_http_request_t* r, const RequestInfo& info,
                          bool in_service) noexcept
{
    using api::LimitStatus;
    const auto now = static_cast<std::uint64_t>(ngx_time());
    if (in_service) {
        count_response(r, info);
    }
    const LimitStatus status = info.service.limit_status;
    if (in_service || status != LimitStatus::none) {
        slot_->recent.add(index_of(status), static_cast<std::uint32_t>(now));
    }
    if (status == LimitStatus::none) {
        return;
    }
    const auto& key = info.service.key.valid;
    const std::size_t plan = key != nullptr ? plan_index(key->record.plan())
                                            : metrics::PlanNames::kNone;
    slot_->decisions[plan][index_of(status)].add();
    if (key != nullptr) {
        count_account(*key, plan, now);
    }
    // What costs more than the plan is refused without a limit being reached.
    const api::Decision& decision = info.service.decision.value;
    if (is_denial(status) && key != nullptr && !api::exceeds_plan(decision)) {
        // By this host's clock, like all times on the status page.
        const auto left = api::denial_end(decision) - decision.now + 999;
        slot_->denied.add(key->account->id(), static_cast<std::uint32_t>(plan),
                          status == LimitStatus::banned,
                          now + static_cast<std::uint64_t>(left / 1000), now);
    }
}

ngx_int_t install_metrics(ngx_conf_t* cf) noexcept
{
    return add_phase_handler(cf, NGX_HTTP_LOG_PHASE, log_handler);
}

void WorkerMetrics::add_host(const store::HostView& host) noexcept
{
    const auto now = ngx_time();
    if (host.seconds > 0) {
        const Zone::Lock lock(zone_);
        zone_.metrics().hosts.add(
            host.name, host.configuration, host.version,
            static_cast<std::uint64_t>(now + host.seconds),
            static_cast<std::uint64_t>(now));
    }
}

void WorkerMetrics::read_labels(const LabelReaders& readers) noexcept
{
    if (busy_ == nullptr) {
        return;
    }
    const auto now = static_cast<std::uint64_t>(ngx_time());
    metrics::BusyAccount account;
    for (std::size_t i = 0; i < metrics::BusyAccounts::kSize; ++i) {
        bool wanted = false;
        {
            const Zone::Lock lock(zone_);
            wanted = busy_->wants_names(i, now, account);
        }
        for (const auto& reader : readers) {
            if (wanted) {
                reader->read(account.id);
            }
        }
    }
}

void WorkerMetrics::on_names(std::string_view account,
                             std::string_view external_id,
                             std::string_view label) noexcept
{
    const Zone::Lock lock(zone_);
    busy_->set_names(account, external_id, label);
}

metrics::Totals totals_of(const Zone& zone)
{
    auto totals = metrics::totals_of(zone.metrics(), is_alive,
                                     static_cast<std::uint64_t>(ngx_time()));
    totals.nginx = NGINX_VERSION;
    const metrics::Directory& directory = zone.metrics();
    metrics::StoreHosts hosts;
    metrics::BusyAccounts::List busy;
    {
        const Zone::Lock lock(zone);
        hosts = directory.hosts;
        if (directory.busy != nullptr) {
            busy = directory.busy->read_all(totals.now);
        }
    }
    metrics::add_hosts(hosts, totals);
    metrics::add_busiest(busy, totals);
    return totals;
}

}  // namespace petstore::ngx
