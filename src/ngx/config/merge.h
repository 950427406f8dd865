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
