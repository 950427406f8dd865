#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "../api/limit.h"
#include "counter.h"
#include "denied_accounts.h"
#include "names.h"
#include "recent.h"
#include "redis_counters.h"
#include "store_hosts.h"

namespace petstore::metrics {

enum class RequestKind {
    list_pets,
    create_pet,
    get_pet,
    openapi,
    options,
    guard,
    admin,
    usage,
    other,
    count,
};

template <typename Enum>
constexpr std::size_t index_of(Enum value) noexcept
{
    return static_cast<std::size_t>(value);
}

std::string_view to_string(RequestKind kind) noexcept;

// The label `verdict` of a request with this status, not LimitStatus::none.
std::string_view label_of(api::LimitStatus status) noexcept;

// Statuses that have their own counter. All others share one.
inline constexpr std::array<std::uint16_t, 46> kStatuses = {
    101, 200, 201, 202, 204, 206, 207, 301, 302, 303, 304, 307,
    308, 400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 411,
    412, 413, 414, 415, 416, 417, 421, 422, 423, 425, 426, 428,
    429, 431, 444, 499, 500, 501, 502, 503, 504, 507};
std::size_t status_index(std::uint32_t status) noexcept;
std::string status_text(std::size_t index);  // or "other"

inline constexpr std::size_t kPlans = 32;
inline constexpr std::size_t kRedis = 32;
using PlanNames = Names<kPlans, 40>;
using RedisNames = Names<kRedis, 256>;

// The current state of one worker process, in shared memory. Reused by another
// process after this one has ended.
struct Process {
    std::atomic<std::int64_t> owner{0};  // process ID; 0 for none
    Process* next = nullptr;
    RedisLinks redis[kRedis + 1];
};

// The counters of one worker, in shared memory. Reused by another worker after
// this one has ended, and never reset. Workers share one if the zone has no
// room for more.
struct alignas(64) Slot {
    std::atomic<std::int64_t> owner{0};  // process ID; 0 for none
    Slot* next = nullptr;

    Counter requests[index_of(RequestKind::count)][kStatuses.size() + 1];
    Histogram request_duration;
    Counter decisions[kPlans + 1][api::kLimitStatuses];
    Counter bans;
    Counter outcome_unknown;  // creates that may have been executed
    Counter damaged_data;     // reports of damaged data
    CacheLookups caches;
    RedisCounters redis[kRedis + 1];
    Histogram redis_duration;

    // By LimitStatus.
    Recent<api::kLimitStatuses + 1> recent;
    DeniedAccounts denied;
};

// Requests to guarded locations by route, in shared memory. All workers share
// one table: with one for each, a name would cost half a kilobyte per worker.
struct Routes {
    static constexpr std::size_t kSize = 64;
    using RouteNames = Names<kSize, 65>;

    RouteNames names;
    // The last one, Names::kNone: of those that the table has no room for.
    Counter requests[kSize + 1][kStatuses.size() + 1];
    Histogram durations[kSize + 1];
};

class BusyAccounts;

// The beginning of the metrics in the zone.
struct Directory {
    PlanNames plans;
    RedisNames redis;
    std::atomic<Process*> processes{nullptr};
    std::atomic<Slot*> slots{nullptr};
    std::size_t free_slots = 0;  // that may still be allocated
    // nullptr: the zone is too small for them.
    Routes* routes = nullptr;
    BusyAccounts* busy = nullptr;
    StoreHosts hosts;  // changed and read with the zone locked
};

}  // namespace petstore::metrics
