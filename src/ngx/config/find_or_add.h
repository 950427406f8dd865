#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

namespace petstore::ngx {

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
