#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "busy_accounts.h"
#include "shared_list.h"
#include "slot.h"

namespace petstore::metrics {

struct HistogramTotals {
    std::array<std::uint64_t, kBuckets> buckets{};  // not cumulative
    std::uint64_t sum = 0;                          // microseconds

    void add(const Histogram& histogram) noexcept;
    std::uint64_t count() const noexcept;

    // The duration, in seconds, that the fraction `quantile` of the events did
    // not exceed, interpolated within a bucket; at most the last bound. 0
    // without events.
    double quantile(double quantile) const noexcept;
};

struct RedisTotals {
    std::string name;
    bool used = false;  // by a live worker
    bool up = true;
    std::uint64_t commands = 0;
    std::array<std::uint64_t, index_of(FailureCause::count)> failures{};
    std::uint64_t rejections = 0;
};

struct PlanTotals {
    std::string name;
    std::array<std::uint64_t, api::kLimitStatuses> decisions{};
};

struct RouteTotals {
    std::string name;
    std::array<std::uint64_t, kStatuses.size() + 1> requests{};
    HistogramTotals duration;
};

struct DeniedTotals {
    DeniedAccount account;
    std::string plan;
};

struct BusyTotals {
    BusyAccount account;
    std::string plan;
};

struct LookupTotals {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;

    void add(const Lookups& lookups) noexcept
    {
        hits += lookups.hits();
        misses += lookups.misses();
    }
};

// The metrics of this host at one moment: the sums over its workers.
struct Totals {
    // The period of the rates, in complete seconds.
    static constexpr std::uint32_t kRateSeconds = 10;

    std::uint64_t now = 0;  // Unix seconds
    std::string nginx;      // version
    std::size_t workers = 0;

    std::uint64_t requests[index_of(RequestKind::count)]
                          [kStatuses.size() + 1]{};
    HistogramTotals request_duration;
    std::vector<RouteTotals> routes;  // "other" only if it has requests
    std::vector<PlanTotals> plans;    // the last one: unknown
    std::uint64_t bans = 0;
    std::uint64_t outcome_unknown = 0;
    std::uint64_t damaged_data = 0;
    LookupTotals keys;
    LookupTotals pets;
    LookupTotals responses;
    std::vector<RedisTotals> redis;  // in use, or with counts
    HistogramTotals redis_duration;

    // Events per second. The last one: requests without a verdict.
    std::array<double, api::kLimitStatuses + 1> rates{};

    std::vector<DeniedTotals> denied;  // currently denied, latest first

    // The ten with the most requests, the busiest first.
    std::vector<BusyTotals> busiest;

    std::vector<StoreHost> hosts;  // of the store, by name

    double request_rate() const noexcept;
};

// Throws std::bad_alloc.
Totals totals_of(const Directory& directory, IsAlive is_alive,
                 std::uint64_t now);

// Add those that count now. Throw std::bad_alloc.
void add_hosts(const StoreHosts& hosts, Totals& totals);
void add_busiest(const BusyAccounts::List& accounts, Totals& totals);

}  // namespace petstore::metrics
