#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "config.h"

// The parts of merge_loc_conf(), which inherits settings and computes what
// requests use of them. Unless noexcept, they throw std::bad_alloc.
namespace petstore::ngx {

// The directive of this level that only an admission follows; nullptr if there
// is none. Call before merging.
const char* directive_of_admission(const LocConf& conf) noexcept;
// Whether a location within the block, which has no admission, has its own.
// Call before these are merged.
bool contains_admission(const ngx_http_core_loc_conf_t& core) noexcept;
void merge_access(const LocConf& prev, LocConf& conf, MainConf& main);
void merge_limits(const LocConf& prev, LocConf& conf, MainConf& main) noexcept;
void merge_redis(const LocConf& prev, LocConf& conf);
void merge_tls(const LocConf& prev, LocConf& conf) noexcept;

// Chooses the storage of a location that uses one, the connection for its
// durable creates and those of its admin API, creating them and their nodes if
// no other location has the same settings. False if that is impossible: the
// error is logged at the directive that caused it, or for defaults at
// `petstore` or `petstore_guard`.
bool choose_redis(ngx_conf_t* cf, MainConf& main, LocConf& conf);

// Whether one of the locations that the block itself contains is as wanted.
// Valid while it is merged: nginx sorts the locations afterwards.
template <typename IsWanted>
bool any_location(const ngx_http_core_loc_conf_t& core,
                  IsWanted&& is_wanted) noexcept
{
    ngx_queue_t* const all = core.locations;
    if (all == nullptr) {
        return false;
    }
    for (auto* q = ngx_queue_head(all); q != ngx_queue_sentinel(all);
         q = ngx_queue_next(q)) {
        if (is_wanted(*reinterpret_cast<const ngx_http_location_queue_t*>(q))) {
            return true;
        }
    }
    return false;
}

// The index of an equal item, or the number of items if there is none.
template <typename Items, typename T>
std::size_t index_of(const Items& items, const T& item)
{
    return static_cast<std::size_t>(std::find(items.begin(), items.end(), item)
                                    - items.begin());
}

// The index of an equal item, which is added if there is none.
template <typename Items, typename T>
std::size_t find_or_add(Items& items, T&& item)
{
    const std::size_t index = index_of(items, item);
    if (index == items.size()) {
        items.emplace_back(std::forward<T>(item));
    }
    return index;
}

}  // namespace petstore::ngx
