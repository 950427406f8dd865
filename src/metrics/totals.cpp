#include "totals.h"

#include <algorithm>
#include <numeric>

namespace petstore::metrics {

namespace {

void add_counters(const Slot& slot, Totals& totals)
{
    for (std::size_t i = 0; i < index_of(RequestKind::count); ++i) {
        for (std::size_t j = 0; j <= kStatuses.size(); ++j) {
            totals.requests[i][j] += slot.requests[i][j].get();
        }
    }
    totals.request_duration.add(slot.request_duration);
    totals.bans += slot.bans.get();
    totals.outcome_unknown += slot.outcome_unknown.get();
    totals.damaged_data += slot.damaged_data.get();
    totals.keys.add(slot.caches.key);
    totals.pets.add(slot.caches.pet);
    totals.responses.add(slot.caches.response);
    totals.redis_duration.add(slot.redis_duration);

    for (std::size_t i = 0; i < totals.plans.size(); ++i) {
        const std::size_t place = i + 1 < totals.plans.size() ? i : kPlans;
        for (std::size_t j = 0; j < api::kLimitStatuses; ++j) {
            totals.plans[i].decisions[j] += slot.decisions[place][j].get();
        }
    }
    for (std::size_t i = 0; i < totals.rates.size(); ++i) {
        totals.rates[i] += static_cast<double>(slot.recent.count(
                               i, static_cast<std::uint32_t>(totals.now),
                               Totals::kRateSeconds))
                           / Totals::kRateSeconds;
    }
}

void add_route(const Routes& routes, std::size_t place, std::string_view name,
               Totals& totals)
{
    auto route = std::find_if(
        totals.routes.begin(), totals.routes.end(),
        [&](const RouteTotals& other) { return other.name == name; });
    if (route == totals.routes.end()) {
        route = totals.routes.emplace(route);
        route->name = name;
    }
    for (std::size_t i = 0; i < route->requests.size(); ++i) {
        route->requests[i] += routes.requests[place][i].get();
    }
    route->duration.add(routes.durations[place]);
}

void add_routes(const Routes& routes, Totals& totals)
{
    const std::size_t count = routes.names.size();
    for (std::size_t i = 0; i < count; ++i) {
        add_route(routes, i, routes.names[i], totals);
    }
    HistogramTotals others;
    others.add(routes.durations[Routes::kSize]);
    if (others.count() != 0) {
        add_route(routes, Routes::kSize, "other",
                  totals);  // may be a name, too
    }
}

void add_links(const RedisLinks& links, RedisTotals& totals)
{
    if (links.all.get() != 0) {
        totals.used = true;
        totals.up &= links.down.get() == 0;
    }
}

void add_redis(const RedisCounters& counters, RedisTotals& totals)
{
    totals.commands += counters.commands.get();
    for (std::size_t i = 0; i < totals.failures.size(); ++i) {
        totals.failures[i] += counters.failures[i].get();
    }
    totals.rejections += counters.rejections.get();
}

bool has_counts(const RedisTotals& redis) noexcept
{
    return redis.commands != 0 || redis.rejections != 0
           || std::any_of(redis.failures.begin(), redis.failures.end(),
                          [](std::uint64_t n) { return n != 0; });
}

const std::string& name_of_plan(std::size_t plan, const Totals& totals) noexcept
{
    return totals.plans[std::min(plan, totals.plans.size() - 1)].name;
}

// Merges the entries of an account that several workers denied.
void add_denied(const DeniedAccount& account, Totals& totals)
{
    for (DeniedTotals& known : totals.denied) {
        DeniedAccount& sum = known.account;
        if (sum.account() == account.account()) {
            sum.denied += account.denied;
            sum.last = std::max(sum.last, account.last);
            sum.banned |= account.banned;
            sum.until = std::max(sum.until, account.until);
            return;
        }
    }
    totals.denied.push_back({account, name_of_plan(account.plan, totals)});
}

void add_denied(const DeniedAccounts& accounts, Totals& totals)
{
    for (std::size_t i = 0; i < DeniedAccounts::kSize; ++i) {
        DeniedAccount account;
        if (accounts.read(i, account) && !account.has_ended(totals.now)) {
            add_denied(account, totals);
        }
    }
}

}  // namespace

void HistogramTotals::add(const Histogram& histogram) noexcept
{
    for (std::size_t i = 0; i < kBuckets; ++i) {
        buckets[i] += histogram.bucket(i);
    }
    sum += histogram.sum();
}

std::uint64_t HistogramTotals::count() const noexcept
{
    return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
}

double HistogramTotals::quantile(double quantile) const noexcept
{
    const double wanted = quantile * static_cast<double>(count());
    double before = 0;
    std::uint64_t lower = 0;
    for (std::size_t i = 0; i < kBounds.size(); ++i) {
        const auto in_bucket = static_cast<double>(buckets[i]);
        if (in_bucket > 0 && before + in_bucket >= wanted) {
            const auto width = static_cast<double>(kBounds[i] - lower);
            return (static_cast<double>(lower)
                    + width * (wanted - before) / in_bucket)
                   / 1e6;
        }
        before += in_bucket;
        lower = kBounds[i];
    }
    return count() == 0 ? 0 : static_cast<double>(kBounds.back()) / 1e6;
}

double Totals::request_rate() const noexcept
{
    return std::accumulate(rates.begin(), rates.end(), 0.0);
}

Totals totals_of(const Directory& directory, IsAlive is_alive,
                 std::uint64_t now)
{
    Totals totals;
    totals.now = now;
    const std::size_t plans = directory.plans.size();
    for (std::size_t i = 0; i < plans; ++i) {
        totals.plans.push_back({std::string(directory.plans[i]), {}});
    }
    totals.plans.push_back({"unknown", {}});
    if (directory.routes != nullptr) {
        add_routes(*directory.routes, totals);
    }
    const std::size_t servers = directory.redis.size();
    for (std::size_t i = 0; i < servers; ++i) {
        totals.redis.emplace_back();
        totals.redis.back().name = directory.redis[i];
    }
    totals.redis.emplace_back();
    totals.redis.back().name = "other";

    for (const Process* process = first(directory.processes);
         process != nullptr; process = process->next) {
        const auto owner = owner_of(*process);
        if (owner != 0 && is_alive(owner)) {
            ++totals.workers;
            for (std::size_t i = 0; i < servers; ++i) {
                add_links(process->redis[i], totals.redis[i]);
            }
            add_links(process->redis[kRedis], totals.redis[servers]);
        }
    }
    for (const Slot* slot = first(directory.slots); slot != nullptr;
         slot = slot->next) {
        add_counters(*slot, totals);
        for (std::size_t i = 0; i < servers; ++i) {
            add_redis(slot->redis[i], totals.redis[i]);
        }
        add_redis(slot->redis[kRedis], totals.redis[servers]);
        add_denied(slot->denied, totals);
    }
    totals.redis.erase(std::remove_if(totals.redis.begin(), totals.redis.end(),
                                      [](const RedisTotals& redis) {
                                          return !redis.used
                                                 && !has_counts(redis);
                                      }),
                       totals.redis.end());
    std::sort(totals.denied.begin(), totals.denied.end(),
              [](const DeniedTotals& a, const DeniedTotals& b) {
                  return a.account.last > b.account.last;
              });
    return totals;
}

void add_hosts(const StoreHosts& hosts, Totals& totals)
{
    for (const StoreHost& host : hosts.all()) {
        if (host.counts(totals.now)) {
            totals.hosts.push_back(host);
        }
    }
    std::sort(totals.hosts.begin(), totals.hosts.end());
}

void add_busiest(const BusyAccounts::List& accounts, Totals& totals)
{
    constexpr std::size_t kShown = 10;
    for (const BusyAccount& account : accounts) {
        if (account.per_minute > 0) {
            totals.busiest.push_back(
                {account, name_of_plan(account.plan, totals)});
        }
    }
    std::sort(totals.busiest.begin(), totals.busiest.end(),
              [](const BusyTotals& a, const BusyTotals& b) {
                  return a.account.per_minute > b.account.per_minute;
              });
    if (totals.busiest.size() > kShown) {
        totals.busiest.resize(kShown);
    }
}

}  // namespace petstore::metrics
